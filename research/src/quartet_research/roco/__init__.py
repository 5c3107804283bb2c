"""RoCo (Mandi et al., ICRA 2024): the worlds and experiments of the paper."""
