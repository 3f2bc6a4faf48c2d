"""What all searches on a Vulkan device share."""
