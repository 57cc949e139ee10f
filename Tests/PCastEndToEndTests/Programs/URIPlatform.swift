import Foundation
import PCast

/// A platform that pulls and pushes streams, and a client of it in this process.
struct URIPlatform: Sendable {
    let local: LocalPlatform
    let pcast: PCast

    static func start(in workspace: TestWorkspace, _ options: String...) async throws -> URIPlatform {
        let local = try await LocalPlatform.start(in: workspace, options)
        let pcast = PCast(PCastOptions(uri: local.uri))
        _ = try await pcast.start(authenticationToken: try await local.authenticationToken())
        return URIPlatform(local: local, pcast: pcast)
    }

    /// The value of `--srt-pull-ports` with which ``listen(_:options:)`` may choose a port.
    static let listenerPorts = "\(ChosenPort.range.lowerBound)-\(ChosenPort.range.upperBound - 1)"

    /// Publishes what an encoder sends by SRT to a port that the platform listens on.
    ///
    /// - Parameters:
    ///   - parameters: The parameters of the URI, each with `&` before it.
    ///   - options: The options of the publisher.
    /// - Returns: The publisher and the port.
    /// - Throws: The error of the publisher, or `EndToEndFailure` if no port is free.
    func listen(
        _ parameters: String = "", options: ConnectOptions = ConnectOptions()
    ) async throws -> (publisher: Publisher, port: Int) {
        let token = try await token("publish", "publish-uri")
        return try await ChosenPort.find { port -> (Publisher, Int)? in
            guard !ChosenPort.isInUse(port) else { return nil }
            do {
                let publisher = try await pcast.publishFromUri(
                    streamToken: token, uri: "srt://0.0.0.0:\(port)?mode=listener\(parameters)",
                    connectOptions: options)
                return (publisher, port)
            } catch {
                if ChosenPort.isInUse(port) { return nil }
                throw error
            }
        }
    }

    /// Creates a token with a capability and further options of `pcast token create`.
    func token(_ type: String, _ capability: String? = nil, _ options: String...) async throws -> String {
        let arguments = [
            "token", "create", "--application", LocalPlatform.application, "--expires-in", "1h", "--type", type,
        ]
        let capabilities = capability.map { ["--capability", $0] } ?? []
        let lines = try await local.workspace.run(BuiltProgram.path("pcast"), arguments + capabilities + options).output
        guard let token = lines.first else { throw EndToEndFailure("no token was made") }
        return token
    }

    func close() async {
        await pcast.shutdown()
        try? await local.program.end()
    }

    /// A process that the platform has started.
    struct Worker: Sendable {
        let id: Int32
        let arguments: [String]

        /// Whether the process is running. A zombie does not count.
        var isRunning: Bool {
            guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return false }
            return !status.contains(") Z ") && !status.contains(") X ")
        }
    }

    var workers: [Worker] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.compactMap { id in
            guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let fields = status.split(separator: ")").last?.split(separator: " "), fields.count > 1,
                Int32(fields[1]) == local.program.processID,
                let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline")
            else { return nil }
            return Worker(
                id: id, arguments: line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
        }
    }
}
