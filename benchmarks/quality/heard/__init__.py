"""What learners say of themselves: standing instructions, and facts that change."""
