// Command control-plane runs two programs of Kubernetes: `control-plane apiserver …` and `control-plane controller-manager …`.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	programs := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"controller-manager": controllermanager.NewControllerManagerCommand,
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		os.Stderr.WriteString("usage: control-plane apiserver|controller-manager FLAGS\n")
		os.Exit(2)
	}
	command := programs[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
