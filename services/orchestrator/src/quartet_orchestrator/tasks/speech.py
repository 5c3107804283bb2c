"""What a participant of a team says, where it speaks in the orchestrator's own process."""

from quartet_agent_runtime import GatewayClient, ModelUnavailableError
from quartet_contracts import Usage
from quartet_contracts.journal import MAX_TEXT
from quartet_orchestrator.errors import TaskAbortedError
from quartet_orchestrator.grants import GrantSigner


class Speech:
    """Asks the orchestrator's model in the name of participants of one task."""

    def __init__(self, model: GatewayClient, signer: GrantSigner, task_id: str, timeout_s: float) -> None:
        self._signer = signer
        self._task_id = task_id
        self._timeout_s = timeout_s
        self._model = model.for_task(task_id, "orchestrator", self.grant)

    def grant(self) -> str:
        """Return a grant for one answer of a model, and for nothing else."""
        return self._signer.sign_model_grant(self._task_id, self._timeout_s)

    async def ask(self, participant: str, prompt: str) -> tuple[str, Usage]:
        """Return an answer, as long as the journal holds it, with its usage. Raises TaskAbortedError."""
        try:
            said = await self._model.answer([{"role": "user", "content": prompt}], [], self._timeout_s)
        except ModelUnavailableError as error:
            raise TaskAbortedError(f"The {participant}'s model cannot be reached: {error}") from error
        usage = Usage(
            turns=1,
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
            cost_usd=said.cost_usd,
        )
        return (said.text or said.refusal or "")[:MAX_TEXT], usage
