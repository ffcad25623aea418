"""The documents of workloads: what a scenario file may say of what is executed.

Shapes only. Keys that came after the first records are left out of a definition while they are unsaid, so that older records keep
their digest.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    Tag,
    field_validator,
    model_serializer,
    model_validator,
)

from perfproof.model.scenarios.scenario import Family

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Scalar = str | int | float | bool | None
Flags = dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")], str | int | float | bool]

MOST_REQUESTS = 1_000_000
MOST_TEXT = 100_000
"""Characters of a prompt's template."""
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class Doc(BaseModel):
    """A mapping of a file: no unknown keys, no guesses at types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Growing(Doc):
    """A document that got keys later: those of `LATER` are left out of a definition while unsaid."""

    LATER: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_unsaid(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {key: value for key, value in dump(self).items() if key not in self.LATER or value != fields[key].default}


class MicroDoc(Doc):
    kind: Literal["micro"]
    bench: Name
    parameters: dict[Name, Scalar | list[Scalar]] = {}
    cases: Annotated[list[dict[Name, Scalar]], Field(min_length=1)] = [{}]


class ToyDoc(Growing):
    LATER = frozenset({"toy", "kv_heads", "head_dim", "intermediate", "experts", "experts_per_token"})

    toy: Family = "llama"
    layers: Annotated[int, Field(ge=1, le=256)] = 2
    hidden: Annotated[int, Field(ge=16, le=16_384)] = 64
    heads: Annotated[int, Field(ge=1, le=256)] = 2
    vocabulary: Annotated[int, Field(ge=256, le=300_000)] = 2048
    context: Annotated[int, Field(ge=64, le=1_000_000)] = 4096
    kv_heads: Annotated[int, Field(ge=1, le=256)] | None = None
    head_dim: Annotated[int, Field(ge=16, le=512)] | None = None
    intermediate: Annotated[int, Field(ge=16, le=65_536)] | None = None
    experts: Annotated[int, Field(ge=1, le=512)] | None = None
    experts_per_token: Annotated[int, Field(ge=1, le=64)] | None = None


class SmolDoc(Doc):
    smollm2: Literal["135m-instruct"]


def _kind_of_model(said: Any) -> str:
    """The document that a model's entry is meant to be: a name, a model from a package, or a toy."""
    if isinstance(said, str):
        return "str"
    return "SmolDoc" if isinstance(said, SmolDoc) or (isinstance(said, dict) and "smollm2" in said) else "ToyDoc"


ModelDoc = Annotated[
    Annotated[str, StringConstraints(min_length=1), Tag("str")] | Annotated[ToyDoc, Tag("ToyDoc")] | Annotated[SmolDoc, Tag("SmolDoc")],
    Discriminator(_kind_of_model),
]
"""A hub name or a folder, a toy that the suite generates, or a real small model that comes in a package."""


class DatasetDoc(Doc):
    template: Annotated[str, StringConstraints(min_length=1, max_length=MOST_TEXT)]
    values: dict[Name, Annotated[list[str], Field(min_length=1)]] = {}
    draw: Literal["in turn", "at random"] = "in turn"
    output_tokens: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)] | None = None

    @model_validator(mode="after")
    def _every_placeholder_has_a_value(self) -> DatasetDoc:
        asked = set(PLACEHOLDER.findall(self.template)) - {"i"}
        faults = [f"template: {{{name}}} has no entry under 'values'" for name in sorted(asked - set(self.values))]
        faults += [f"values.{name}: is not in the template" for name in sorted(set(self.values) - asked)]
        if self.output_tokens and self.output_tokens[0] > self.output_tokens[1]:
            faults.append(f"output_tokens: expected the least and the most, got {self.output_tokens}")
        if faults:
            raise ValueError("; ".join(faults))
        return self


class ServeDoc(Growing):
    LATER = frozenset({"dataset"})

    kind: Literal["serve"]
    model: ModelDoc
    server_arguments: list[str] = []
    client: Flags = {}
    dataset: DatasetDoc | None = None
    requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS)]
    warmups: Annotated[int, Field(ge=0, le=MOST_REQUESTS)] | None = None
    launches: Literal["shared", "fresh"] | None = None


class PytestDoc(Doc):
    kind: Literal["pytest"]
    test: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    base: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")]
    change: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    family: Annotated[int, Field(ge=1, le=100_000)]


class OfflineDoc(Doc):
    kind: Literal["offline"]
    bench: Literal["latency", "throughput"]
    model: ModelDoc
    arguments: Flags = {}

    @field_validator("arguments")
    @classmethod
    def _fixed_work(cls, arguments: Flags) -> Flags:
        if arguments.get("profile"):
            raise ValueError("profile: a profiled run is no measurement")
        return arguments
