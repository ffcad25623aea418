"""The common parts of workloads' documents: the schema of a model, a data set and flags in a scenario file.

These are shapes only. Keys that are newer than the first records are left out of a definition while they are not set, so that older records
keep their digest.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    Tag,
    model_serializer,
    model_validator,
)

from perfproof.model.workloads.model_source import Dataset, Family, Model, SmolModel, ToyModel
from perfproof.model.workloads.workload import Profile, Workload

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
ScalarOrNone = str | int | float | bool | None
Flags = dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")], str | int | float | bool]

MOST_TEXT = 100_000
"""The most characters of a prompt's template."""
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class Doc(BaseModel):
    """A mapping in a file, without unknown keys and type conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Growing(Doc):
    """A document with newer keys: those of `LATER` are left out of a definition while they are not set."""

    LATER: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_unsaid(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unsaid = {key: type(self).model_fields[key].get_default(call_default_factory=True) for key in self.LATER}
        return {key: value for key, value in dump(self).items() if key not in self.LATER or value != unsaid[key]}


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


def _kind_of_model(entry: Any) -> str:
    """The document of a model's entry: a name, a model from a package, or a toy."""
    if isinstance(entry, str):
        return "str"
    return "SmolDoc" if isinstance(entry, SmolDoc) or (isinstance(entry, dict) and "smollm2" in entry) else "ToyDoc"


ModelDoc = Annotated[
    Annotated[str, StringConstraints(min_length=1), Tag("str")] | Annotated[ToyDoc, Tag("ToyDoc")] | Annotated[SmolDoc, Tag("SmolDoc")],
    Discriminator(_kind_of_model),
]
"""A hub name or a folder, a toy that the suite generates, or a real small model from a package."""


class DatasetDoc(Doc):
    template: Annotated[str, StringConstraints(min_length=1, max_length=MOST_TEXT)]
    values: dict[Name, Annotated[list[str], Field(min_length=1)]] = {}
    draw: Literal["in turn", "at random"] = "in turn"
    output_tokens: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)] | None = None

    @model_validator(mode="after")
    def _every_placeholder_has_a_value(self) -> DatasetDoc:
        placeholders = set(PLACEHOLDER.findall(self.template)) - {"i"}
        faults = [f"template: {{{name}}} has no entry under 'values'" for name in sorted(placeholders - set(self.values))]
        faults += [f"values.{name}: is not in the template" for name in sorted(set(self.values) - placeholders)]
        if self.output_tokens and self.output_tokens[0] > self.output_tokens[1]:
            faults.append(f"output_tokens: expected the least and the most, got {self.output_tokens}")
        if faults:
            raise ValueError("; ".join(faults))
        return self


class WorkloadDoc(Doc):
    """The schema of one kind of workload in a file, and its conversion to the noun; `kind` is the kind's name, a literal."""

    kind: str

    @abstractmethod
    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> Workload:
        """The workload under a profile.

        Faults of files that it names, as paths from `folder`, go to `faults`; None reads no file, because a record keeps only their names
        and hashes.
        """

    def unsatisfiable(self, metrics: Sequence[str], blocks: int | None) -> Iterator[str]:
        """Requests of a well-formed file that can't be satisfied, besides metrics that the kind does not measure."""
        yield from ()


def model_of(doc: str | ToyDoc | SmolDoc) -> Model:
    """The model that a document names."""
    if isinstance(doc, SmolDoc):
        return SmolModel(smollm2=doc.smollm2)
    return doc if isinstance(doc, str) else ToyModel(**dict(doc))


def dataset_of(doc: DatasetDoc) -> Dataset:
    """The prompts that a document describes."""
    least_most = (doc.output_tokens[0], doc.output_tokens[1]) if doc.output_tokens else None
    values = {name: tuple(texts) for name, texts in doc.values.items()}
    return Dataset(template=doc.template, values=values, draw=doc.draw, output_tokens=least_most)


def default_launches(profile: Profile) -> Literal["shared", "fresh"]:
    """How servers are launched where the document doesn't say: shared in the quick profile, fresh in others."""
    return "shared" if profile == "quick" else "fresh"
