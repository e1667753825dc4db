"""The program around the server: the command, its process, certificates and kubeconfig."""
