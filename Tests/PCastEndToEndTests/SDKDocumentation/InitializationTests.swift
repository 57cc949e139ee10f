import Foundation
import Logging
import PCast
import PCastCompatibility
import PCastCore
import Synchronization
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("Initialization")
    struct InitializationTests {
        @Test(
            "Controls if process termination signal handling is enabled or not", .timeLimit(.minutes(5)),
            arguments: [(SIGTERM, true), (SIGINT, true), (SIGTERM, false)])
        func signals(number: Int32, isEnabled: Bool) async throws {
            let shared = try SharedPlatform.current()
            let workspace = shared.platform.workspace
            let publisher = try workspace.start(
                BuiltProgram.path("PublishExample"),
                [shared.platform.uri, try shared.authenticationToken, try shared.publishingToken, "synthetic"]
                    + (isEnabled ? ["handle-signals"] : []))
            let line = await publisher.output.lines.first { $0.hasPrefix("publishing ") }
            let name = try #require(line.map { StreamID(String($0.dropFirst("publishing ".count))) })
            let viewer = try await shared.watch(name)
            let renderer = viewer.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            publisher.send(number)
            // The process then ends by the signal, handled or not.
            try await publisher.expectExitStatus(128 + number)
            if isEnabled {
                #expect(await viewer.stream.ended.reason == .pcastStop)
                _ = try await shared.notification("ended", of: name)
            } else {
                // The process ended without a message, so its end is not known yet.
                #expect(viewer.stream.endedInfo == nil)
                try await shared.end(name, reason: "ended")
            }
            await viewer.close()
        }

        /// The log handler of an application.
        private struct Handler: LogHandler {
            let lines: Awaited<String>
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.info

            init(_ lines: Awaited<String>) { self.lines = lines }

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) { lines.add("\(event.level) \(event.message) \(event.metadata ?? [:])") }
        }

        @Test(
            "configureLogging: Control if phenix logging is enabled", .timeLimit(.minutes(5)), arguments: [true, false])
        func logging(isEnabled: Bool) async throws {
            let shared = try SharedPlatform.current()
            let lines = Awaited<String>()
            var options = PCastOptions(uri: shared.platform.uri)
            options.configureLogging(isEnabled, level: .info) { _ in Handler(lines) }
            let published = try await shared.publish(by: try await shared.client(options))
            await published.close()
            #expect(lines.values.isEmpty != isEnabled)
            #expect(lines.values.contains { $0.contains("stream established") } == isEnabled)
            #expect(!lines.values.contains { $0.contains("DIGEST") })
            // Messages are collected for reports in either case, without tokens.
            let collected = published.pcast.collectLogMessages()
            #expect(collected.contains("stream ended"))
            #expect(!collected.contains("DIGEST:e"))
        }

        @Test("Allows partial override of streaming source URIs")
        func mapping() throws {
            let mapping = try StreamingSourceMapping(
                patternToReplace: #"https:\/\/phenixrts\.com\/video"#, replacement: "https://myown.cdn.com")
            #expect(
                mapping.apply(to: "https://phenixrts.com/video/a/live.m3u8") == "https://myown.cdn.com/a/live.m3u8")
        }

        @Test(
            "It only has an effect on the subscriber side, and only for streams with the “streaming” capability (on both publisher and subscriber side).",
            .timeLimit(.minutes(5)))
        func mappingOfOthers() async throws {
            let shared = try SharedPlatform.current()
            // The mapping leads to an unreachable address.
            let mapping = try StreamingSourceMapping(patternToReplace: ".+", replacement: "http://127.0.0.1:1/")
            let options = PCastOptions(uri: shared.platform.uri, streamingSourceMapping: mapping)
            let published = try await shared.publish(by: try await shared.client(options), hasSlice: true)
            let watched = try await shared.watch(published.publisher.streamID, by: try await shared.client(options))
            let renderer = watched.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            await watched.close()
            await published.close()
        }

        @Test("Optional field that can be provided with PhenixPCastInitializeOptions.")
        func mappingIsOptional() throws {
            #expect(PCastOptions().streamingSourceMapping == nil)
            let mapping = try StreamingSourceMapping(patternToReplace: "a", replacement: "b")
            #expect(PCastOptions(streamingSourceMapping: mapping).streamingSourceMapping == mapping)
        }
    }
}
