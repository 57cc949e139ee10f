import Foundation
import Logging
import PCast
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import Synchronization
import Testing

extension EndToEnd {
    /// The rules by which a real worker is limited on kernels that have no rules about ports.
    @Suite("Workers in a network of their own")
    struct WorkerNetworkTests {
        private static let canIsolate = (try? ConnectionLimits.runIsolated { () throws(IOError) in true }) ?? false
        private static let secret = "sesame"

        private final class Reports: Sendable {
            private let reports = Mutex<[JobReport]>([])

            var all: [JobReport] { reports.withLock { $0 } }

            func add(_ line: String) { reports.withLock { $0 += [JobReport(line: line)].compactMap { $0 } } }
        }

        private static func token(_ type: (EdgeTokenBuilder) -> EdgeTokenBuilder) throws -> String {
            let builder = EdgeTokenBuilder().withApplicationId("first").withSecret(secret)
                .expiresIn(.seconds(600), from: MonotonicClock.wallTime())
            return try type(builder).build()
        }

        private static func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
            let end = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < end {
                if try await condition() { return true }
                try await ContinuousClock().sleep(for: .milliseconds(20))
            }
            return false
        }

        /// The network namespaces of the workers that this process has started.
        private static var networks: [String] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return names.compactMap { Int32($0) }.compactMap { id in
                guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                    let fields = status.split(separator: ")").last?.split(separator: " "), fields.count > 1,
                    Int32(fields[1]) == getpid(),
                    let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline"),
                    line.split(separator: 0).last.map({ String(decoding: $0, as: UTF8.self) }) == "worker"
                else { return nil }
                return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/ns/net")
            }
        }

        @Test(
            "a worker pulls a film and publishes it out of a network of its own, and reaches nothing else",
            .enabled(if: canIsolate, "left out: isolated programs: user namespaces are not permitted"),
            .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func isolated() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, in: workspace)
                let server = try workspace.start(
                    "/usr/bin/env", ["python3", "\(BuiltProgram.peers)/redirections.py", film.file.path])
                let port = Int(try #require(try await server.event("listening")["http"].number))
                for (path, isFilm) in [("film.mp4", true), ("redirect", false)] {
                    try await Self.pull("http://127.0.0.1:\(port)/\(path)", isFilm: isFilm, workspace)
                }
                _ = try await server.event("asked") { _ in server.events("asked").count >= 2 }
                #expect(server.events("reached").isEmpty)
            }
        }

        /// The order is the platform's own; the worker is held back by what is named here, whatever this kernel has.
        private static func pull(_ uri: String, isFilm: Bool, _ workspace: TestWorkspace) async throws {
            let file = workspace.path("order-\(isFilm).json")
            let script = #"""
                read order; echo "$order" > '\#(file).new'; mv '\#(file).new' '\#(file)'
                echo '{"listening":{}}'; cat > /dev/null
                """#
            var configuration = PlatformConfiguration(
                host: "127.0.0.1", port: 0, rtcPort: 0,
                applications: [PlatformConfiguration.Application(id: ApplicationID("first"), secret: secret)])
            configuration.jobs = JobConfiguration(
                program: "/bin/sh", arguments: ["-c", script], networks: [IPNetwork("127.0.0.1")!])
            let platform = Platform(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let (listening, continuation) = AsyncStream<PlatformListening>.makeStream()
            let task = Task { try await platform.run { continuation.yield($0) } }
            defer { task.cancel() }
            let address = try #require(await listening.first { _ in true }).uri
            let pcast = PCast(PCastOptions(uri: address))
            _ = try await pcast.start(authenticationToken: try token { $0.forAuthenticationOnly() })
            let publisher = try await pcast.publishFromUri(
                streamToken: try token { $0.forPublishingOnly().withCapability("publish-uri") }, uri: uri)
            let line = try String(contentsOfFile: file, encoding: .utf8)
            let order = try #require(IngestJob(line: line))

            let reports = Reports()
            let guarded = try #require(JobSandbox(order, .network) { reports.add($0) })
            let program = try BuiltProgram.path("pcast")
            let working = Task {
                await guarded.run(program, ["worker"], environment: ProcessInfo.processInfo.environment)
            }
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
            if isFilm {
                #expect(try await eventually { reports.all.contains(.running) }, "\(reports.all)")
                #expect(networks.count == 1 && !networks.contains(own), "\(networks), and \(own)")
                #expect(await publisher.ended.reason == .ended)
            }
            await working.value
            let hasEnded = reports.all.contains { if case .ended = $0 { true } else { false } }
            #expect(hasEnded && reports.all.contains(.running) == isFilm, "\(reports.all)")
            await pcast.shutdown()
        }
    }
}
