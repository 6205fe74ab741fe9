"""What other tools keep, as cases and ratings; and cases with their verdicts and ratings, as those tools take them."""

from .import_format import ImportFormat, Item, ToolRecords
from .importing import Imported, import_records

__all__ = ["ImportFormat", "Imported", "Item", "ToolRecords", "import_records"]
