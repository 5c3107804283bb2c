"""One reference policy per agent."""
