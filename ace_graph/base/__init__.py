"""What everything else stands on: errors, settings, prompts, prices, telemetry, the portal, executors."""
