"""RoCo (Mandi et al., ICRA 2024): arms at one table that talk and plan their motion together, and the 3D grid."""
