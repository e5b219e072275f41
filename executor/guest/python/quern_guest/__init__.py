"""What runs inside a session: cells, what they show, and the figures they draw.

C calls boot.zygote() once, boot.session() in every session that is forked from
it, and cell.run() for every cell. _quern is the way back to C.
"""
