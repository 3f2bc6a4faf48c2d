"""The only place that knows Vulkan."""
