"""Labelled pairs of short lessons that say the same, written for these tests, by how their texts differ."""

from __future__ import annotations

LESSONS = (
    "Find the least common denominator before adding fractions",
    "List the directory before reading a file in it",
    "Retry the request after a timeout of 30 seconds",
    "Convert the mixed number to an improper fraction first",
    "The student prefers pictures over long explanations",
    "Round the final price to 2 decimal places",
    "Check the API documentation before calling an endpoint",
    "Multiply the numerator and the denominator by the same number",
    "The least common multiple of 4 and 6 is 12",
    "Close the database connection after the last query",
    "Draw a number line when comparing negative numbers",
    "Use parameterised queries to prevent injection attacks",
    "Water boils at 100 degrees Celsius at sea level",
    "Validate the user input before writing it to the database",
    "Subtract 32 from the temperature before multiplying by 5/9",
    "The learner confuses area with perimeter",
    "Run the unit tests after changing the parser",
    "Simplify the fraction at the end of the calculation",
    "Sort the list before a binary search",
    "Give the answer in the language of the question",
    "Divide both sides of the equation by the coefficient of x",
    "Paginate through all results until an empty page is returned",
    "Estimate the result to catch mistakes in long division",
    "Preheat the oven to 180 degrees before mixing the dough",
    "Cache the response for 10 minutes to save calls",
    "An access token expires after 60 minutes",
    "Explain every step with an example from football",
    "The net income equals revenue minus expenses",
    "Read the stack trace from the bottom to the top",
    "Keep the branch up to date with the main branch",
)

_FRAMES = (
    "Always {}",
    "Remember to {}",
    "{} please",
    "Make sure to {}",
    "You should {}",
    "It is important to {}",
    "Note that {}",
    "Basically, {}",
    "In general, {}",
    "Keep in mind: {}",
    "Please {}",
    "Really {}",
)


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]


FORMAT = (
    *((lesson, lesson.upper()) for lesson in LESSONS[::3]),
    *((lesson, f"{lesson}.") for lesson in LESSONS[1::3]),
    *((lesson, f'  "{_lower_first(lesson)}"!') for lesson in LESSONS[2::3]),
    ("Use 1,000 samples for the test", "Use 1000 samples for the test"),
    ("Wait 3.0 seconds between calls", "Wait 3 seconds between calls"),
    ("Wait three seconds between calls", "Wait 3 seconds between calls"),
    ("Don't add the denominators", "Do not add the denominators"),
    ("Don’t add the denominators", "Don't add the denominators"),
    ("Set the file-name first", "Set the file name first"),
    ("Add ½ cup of sugar", "Add 1/2 cup of sugar"),
    ("Keep 50 % of the samples", "Keep 50% of the samples"),
    ("Walk 5 km every day", "Walk 5km every day"),
    ("You cannot divide by zero", "You can't divide by 0"),
)

FILLER = (
    *(
        (lesson, _FRAMES[place % len(_FRAMES)].format(_lower_first(lesson)))
        for place, lesson in enumerate(LESSONS)
        if lesson.split()[0] not in ("The", "An", "Water")
    ),
    ("The student prefers pictures", "Well, the student really prefers pictures"),
    ("Check the units", "Don't forget to check the units"),
    ("Check the units", "You need to check the units"),
    ("Check the units first", "Always check the units carefully first"),
    ("Sketch the triangle", "Just sketch the triangle"),
    ("Sketch the triangle", "Simply sketch the triangle, please"),
    ("Test with an empty list", "Be sure to test with an empty list as well"),
)

ORDER = (
    ("Find the LCD before adding fractions", "Before adding fractions, find the LCD"),
    ("When the sign is negative, flip the inequality", "Flip the inequality when the sign is negative"),
    ("Run the tests after changing the parser", "After changing the parser, run the tests"),
    ("To save calls, cache the response", "Cache the response to save calls"),
    ("If the page is empty, stop paginating", "Stop paginating if the page is empty"),
    ("Sort the list before a binary search", "Before a binary search, sort the list"),
    ("Check units, signs and rounding", "Check signs, rounding and units"),
    ("In long division, estimate the result", "Estimate the result in long division"),
    ("For negative numbers, draw a number line", "Draw a number line for negative numbers"),
    ("With an example from football, explain every step", "Explain every step with an example from football"),
    ("Label the axes in every chart", "In every chart label the axes"),
    (
        "Tap water in the north of the island is drinkable",
        "In the north of the island, tap water is drinkable",
    ),
    ("At sea level, water boils at 100 degrees", "Water boils at 100 degrees at sea level"),
    (
        "Until an empty page is returned, request the next page",
        "Request the next page until an empty page is returned",
    ),
    ("Close the connection after the last query", "After the last query, close the connection"),
    (
        "While debugging, read the log from the bottom to the top",
        "Read the log from the bottom to the top while debugging",
    ),
    ("Use a proxy and a cache for slow services", "For slow services, use a cache and a proxy"),
    ("Before writing it to disk, validate the input", "Validate the input before writing it to disk"),
    ("If a call fails, retry it after 30 seconds", "After 30 seconds, retry it if a call fails"),
    ("Because tokens expire, refresh them every hour", "Refresh them every hour because tokens expire"),
    (
        "When a fraction is improper, convert it to a mixed number",
        "Convert it to a mixed number when a fraction is improper",
    ),
    ("By default, answer in German", "Answer in German by default"),
    ("For the quarterly report, use revenue and margin", "Use revenue and margin for the quarterly report"),
    ("To compare fractions, use a common denominator", "Use a common denominator to compare fractions"),
    ("Mix flour, sugar and butter", "Mix butter, flour and sugar"),
    ("Without a key, use the offline tutor", "Use the offline tutor without a key"),
)

TYPO = (
    ("Find the least common denominator first", "Find the least comon denominator first"),
    ("Convert the fraction to a decimal", "Convert the fracton to a decimal"),
    ("Simplify the result at the end", "Simplfy the result at the end"),
    ("The student prefers pictures", "The studnet prefers pictures"),
    ("Multiply the numerators together", "Multipy the numerators together"),
    ("Check the documentation of the endpoint", "Check the documentaiton of the endpoint"),
    ("Validate the input before writing", "Validate the inptu before writing"),
    ("Estimate the answer to catch mistakes", "Estimate the answer to catch mistkaes"),
    ("Round the price to 2 decimal places", "Round the prcie to 2 decimal places"),
    ("Draw a number line for negative values", "Draw a number line for negatvie values"),
    ("Use parameterised queries for the database", "Use parameterised queries for the databse"),
    ("Close the connection after the last query", "Close the conection after the last query"),
    ("Refresh the access token every hour", "Refresh the acess token every hour"),
    ("Explain every step with an example", "Explain every step with an exmaple"),
    ("Read the stack trace from the bottom", "Read the stack trase from the bottom"),
    ("Divide both sides by the coefficient", "Divide both sides by the coeficient"),
    ("Sort the customers by family name", "Sort the custommers by family name"),
    ("Preheat the oven to 180 degrees", "Preaheat the oven to 180 degrees"),
    ("Compare fractions with a common denominator", "Compare fractions with a common denominater"),
    ("Paginate through the results of the search", "Paginate trough the results of the search"),
    ("Keep the branch up to date", "Keep the brnach up to date"),
    ("The learner confuses area with perimeter", "The learner confuses area with perimiter"),
    ("Encrypt the passwords of the accounts", "Encrypt the passwords of the acounts"),
    ("Answer in the language of the question", "Answer in the langauge of the question"),
    ("Store the temperature of the reactor", "Store the temprature of the reactor"),
    ("Group the transactions by category", "Group the transactons by category"),
)

SAME = {"format": FORMAT, "filler": FILLER, "order": ORDER, "typo": TYPO}
