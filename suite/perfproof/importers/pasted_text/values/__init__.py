"""Numbers with names, in lines: `name: value unit`, several in one line, lists of them."""
