import ArgumentParser
import Foundation
import PCastIO
import PCastJSON

/// `pcast-bench render-worker` is a process of `pcast-bench render` whose CPU time is measured.
struct RenderWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render-worker", abstract: "Play a file in a window; started by “render”.", shouldDisplay: false)

    @Option var file: String

    func run() async throws {
        StandardOutput.write(try await RenderRun(file: file).run().text + "\n")
    }
}
