"""A gene on disk: its phenotype, its v2 id, and its compiled module."""

from rotifer_host.gene.compile import CompileResult, compile_gene
from rotifer_host.gene.gene import Gene
from rotifer_host.gene.phenotype import Phenotype

__all__ = ["CompileResult", "Gene", "Phenotype", "compile_gene"]
