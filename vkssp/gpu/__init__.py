"""Access to Vulkan devices: buffers, kernels, recordings; no other package calls Vulkan."""
