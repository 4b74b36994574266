"""What `rotifer test` does: schemas, the gene's suite, generated inputs and the ABI, over a memory of its own."""

from rotifer_host.suite.check import check_gene
from rotifer_host.suite.report import Check, Evidence, GeneTest, KeptEntry
from rotifer_host.suite.scaffold import write_suite

__all__ = ["Check", "Evidence", "GeneTest", "KeptEntry", "check_gene", "write_suite"]
