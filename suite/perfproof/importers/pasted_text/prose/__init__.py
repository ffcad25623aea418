"""Words with numbers among them: who is spoken of (`side_mentions`), which numbers are measurements (`amounts`), and whose each number is
and what it measures (`phrases`). Headings, tables and the blocks of clients belong elsewhere."""
