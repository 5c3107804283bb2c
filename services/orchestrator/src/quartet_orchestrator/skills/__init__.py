"""Calls of sub-agents: one attempt at one skill, approvals of its calls, pictures after it."""

from quartet_orchestrator.skills.approvals import ApprovalService
from quartet_orchestrator.skills.caller import SkillCaller

__all__ = ["ApprovalService", "SkillCaller"]
