"""From parameters to runs, their order, batches and costs."""
