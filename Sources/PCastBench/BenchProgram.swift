import ArgumentParser
import Dispatch
import Foundation
import PCastIO

/// Runs the command that the arguments select; standard output is prepared as in every program of PCast.
@main
enum BenchProgram {
    static func main() {
        StandardOutput.prepare()
        // Valgrind ends with an error if the first thread leaves the program to the main queue.
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == CodecCostWorkerCommand.name {
            return CodecCostWorkerCommand.main(Array(arguments.dropFirst()))
        }
        // Without a reader of the results, the measurement ends.
        StandardOutput.whenClosed { _exit(0) }
        Task {
            await BenchCommand.main(nil)
            exit(0)
        }
        dispatchMain()
    }
}
