"""Parts that all searches on a Vulkan device share."""
