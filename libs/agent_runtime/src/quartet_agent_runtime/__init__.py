"""How an agent thinks: gateway client, MCP tools, the loop, budgets, transcript."""
