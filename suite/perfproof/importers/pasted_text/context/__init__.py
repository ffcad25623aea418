"""What holds for a number by what stands around it: headings, sections, commands; and the form in which it is kept with its side."""
