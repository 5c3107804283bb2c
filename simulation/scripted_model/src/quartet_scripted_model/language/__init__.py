"""Understanding of English sentences about carrying things, over the names that the facts hold."""
