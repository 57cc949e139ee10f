import ArgumentParser
import Foundation
import PCastIO

/// Runs the command that the arguments select; standard output is prepared as in every program of PCast.
@main
enum BenchProgram {
    static func main() async {
        StandardOutput.prepare()
        // Without a reader of the results, the measurement ends.
        StandardOutput.whenClosed { _exit(0) }
        await BenchCommand.main(nil)
    }
}
