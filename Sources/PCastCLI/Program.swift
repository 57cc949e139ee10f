import ArgumentParser
import Foundation
import PCastIO

/// The program `pcast`.
@main
enum Program {
    static func main() async {
        StandardOutput.prepare()
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        // Exit handlers are not run: they release libraries that other threads may still use, which can crash. Output is
        // not buffered.
        _exit(status.rawValue)
    }

    /// Runs a command and returns the exit status of the process.
    static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            var command = try PCastCommand.parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return .ended
        } catch let failure as CommandFailure {
            if let sentence = failure.sentence {
                StandardOutput.writeError(Console.sentence("pcast: \(sentence)") + "\n")
            }
            return failure.status
        } catch {
            return report(error)
        }
    }

    /// Prints an error of the argument parser, which is a requested help text or an invalid argument.
    private static func report(_ error: any Error) -> ExitStatus {
        let text = Console.sentence(PCastCommand.fullMessage(for: error)) + "\n"
        switch PCastCommand.exitCode(for: error) {
        case .success:
            StandardOutput.write(text)
            return .ended
        case .validationFailure:
            StandardOutput.writeError(text)
            return .unusableArguments
        default:
            StandardOutput.writeError(text)
            return .failed
        }
    }
}
