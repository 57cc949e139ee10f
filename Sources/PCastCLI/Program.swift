import ArgumentParser
import Foundation

/// The program `pcast`.
@main
enum Program {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Runs one command and tells what the process should exit with.
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
            if let sentence = failure.sentence { FileHandle.standardError.write(Data("pcast: \(sentence)\n".utf8)) }
            return failure.status
        } catch {
            return report(error)
        }
    }

    /// What the argument parser throws: a help text that was asked for, or arguments it cannot use.
    private static func report(_ error: any Error) -> ExitStatus {
        let text = Data((PCastCommand.fullMessage(for: error) + "\n").utf8)
        switch PCastCommand.exitCode(for: error) {
        case .success:
            FileHandle.standardOutput.write(text)
            return .ended
        case .validationFailure:
            FileHandle.standardError.write(text)
            return .unusableArguments
        default:
            FileHandle.standardError.write(text)
            return .failed
        }
    }
}
