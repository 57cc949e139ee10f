import ArgumentParser
import Foundation
import PCastIO

/// Runs the command that the arguments name, with standard output as every program of PCast has it.
@main
enum Program {
    static func main() async {
        StandardOutput.prepare()
        // A measurement that nobody reads is not worth its time.
        StandardOutput.whenClosed { _exit(0) }
        await BenchCommand.main(nil)
    }
}
