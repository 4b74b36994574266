"""A gene on disk: its phenotype, its v2 id, and its compiled module, which `gene.compile` makes."""

from rotifer_host.gene.gene import Gene
from rotifer_host.gene.phenotype import Phenotype

__all__ = ["Gene", "Phenotype"]
