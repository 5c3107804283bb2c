"""An OpenAI-compatible endpoint with a reference policy in place of an LLM."""
