"""Tables cut out of the text, whatever shape they have. What their cells mean is read elsewhere."""
