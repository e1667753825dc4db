"""The level-triggered engine; knows neither kopf, kubernetes nor ansible_runner."""
