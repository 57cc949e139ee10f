import Foundation
import PCast
import PCastCompatibility
import PCastCore
import Testing

extension EndToEnd.SDKDocumentation {
    /// Each reason for the end of a stream, caused by real operations: publisher, viewer and backend receive the same.
    @Suite("End reasons")
    struct EndReasonTests {
        @Test("a stream ends, and everyone receives the same reason", .timeLimit(.minutes(5)), arguments: EndReason.all)
        func reasons(reason: EndReason) async throws { try await reason.check(on: try SharedPlatform.current()) }

        @Test("a platform that is asked to end reports maintenance to all", .timeLimit(.minutes(5)))
        func maintenance() async throws {
            try await TestWorkspace.run { workspace in
                let shared = try await SharedPlatform.start(in: workspace)
                let published = try await shared.publish()
                let watched = try await shared.watch(published.publisher.streamID)
                shared.platform.program.send(SIGTERM)
                #expect(await published.publisher.ended.reason == .maintenance)
                #expect(await watched.stream.ended.reason == .maintenance)
                if shared.backend != nil {
                    let received = try await shared.notification("ended", of: published.publisher.streamID)
                    #expect(received["data"]["reason"].text == "maintenance")
                }
                try await shared.platform.program.expectExitStatus(0)
                await watched.close()
                await published.close()
            }
        }

        @Test("a killed publisher's stream fails for its viewer and the backend", .timeLimit(.minutes(5)))
        func killed() async throws {
            // By default its stream fails half a minute after its last packet.
            let options = ThisMachine.isFull ? [] : ["--session-timeout", "2s"]
            try await TestWorkspace.run { workspace in
                try await Self.kill(on: try await SharedPlatform.start(in: workspace, options))
            }
        }

        private static func kill(on shared: SharedPlatform) async throws {
            let publisher = try shared.platform.workspace.start(
                BuiltProgram.path("PublishExample"),
                [shared.platform.uri, try shared.authenticationToken, try shared.publishingToken, "synthetic"])
            let line = await publisher.output.lines.first { $0.hasPrefix("publishing ") }
            let stream = try #require(line.map { StreamID(String($0.dropFirst("publishing ".count))) })
            let watched = try await shared.watch(stream)
            let renderer = watched.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            publisher.send(SIGKILL)
            #expect(await watched.stream.ended.reason == .failed)
            if let backend = shared.backend {
                let received = try await backend.event("notification") { event in
                    event["what"].text == "ended" && event["data"]["streamId"].text == stream.description
                }
                #expect(received["data"]["reason"].text == "failed")
            }
            await watched.close()
        }

        @Test("an application in the background may resume its stream later", .timeLimit(.minutes(5)))
        func recovery() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let token = try shared.publishingToken
            let recovering = try await Self.recovering(published, token)
            let first = try #require(await Self.stream(of: recovering, after: nil))
            // A stream that the platform ends for maintenance is re-created automatically as another stream.
            try await shared.end(first.streamID, reason: "maintenance")
            let second = try #require(await Self.stream(of: recovering, after: first))
            #expect(second.streamID != first.streamID)
            await published.pcast.applicationBackground()
            #expect(second.endedInfo?.reason == .appBackground)
            await Self.takeUp(recovering)
            let third = try #require(await Self.stream(of: recovering, after: second))
            #expect(!third.hasEnded)
            // A censored stream cannot be resumed.
            try await shared.end(third.streamID, reason: "censored")
            let info = await recovering.ended
            #expect(info.reason == .censored)
            await published.close()
        }

        private static func recovering(
            _ published: SharedPlatform.Published, _ token: String
        ) async throws -> RecoveringStream<Publisher> {
            let source: PCast.TokenSource = { () async throws(PCastError) in token }
            return try await published.pcast.publish(
                recovering: RecoveryPolicy(), mediaStream: published.media.mediaStream, streamToken: source)
        }

        private static func stream(
            of recovering: RecoveringStream<Publisher>, after known: Publisher?
        ) async -> Publisher? {
            for await stream in recovering.current.values {
                if let stream, stream !== known { return stream }
            }
            return nil
        }

        private static func takeUp(_ recovering: RecoveringStream<Publisher>) async {
            for await offer in recovering.offer.values {
                if let offer { return offer.perform() }
            }
        }
    }
}

/// A way to end a stream, with the result for publisher, viewer and backend.
struct EndReason: Sendable, CustomTestStringConvertible {
    enum Cause: Sendable {
        /// The backend ends it through the REST interface.
        case backend(String)
        /// The publisher's SDK stops it.
        case stop(String?)
        case background
        case pcastStop
    }

    let cause: Cause
    let reason: StreamEndedReason
    /// The word in the notification.
    let wire: String

    var testDescription: String { "\(cause)" }

    static let all: [EndReason] =
        [
            EndReason(cause: .stop(nil), reason: .ended, wire: "ended"),
            EndReason(cause: .stop("I-am-done-publishing"), reason: .custom, wire: "I-am-done-publishing"),
            EndReason(cause: .background, reason: .appBackground, wire: "app-background"),
            EndReason(cause: .pcastStop, reason: .pcastStop, wire: "pcast-stop"),
            EndReason(cause: .backend("out of time"), reason: .custom, wire: "out of time"),
            EndReason(cause: .backend("egress-failed"), reason: .failed, wire: "egress-failed"),
            EndReason(cause: .backend("egress-setup-failed"), reason: .failed, wire: "egress-setup-failed"),
        ]
        + ["censored", "maintenance", "capacity", "overload", "app-background"].map { word in
            EndReason(cause: .backend(word), reason: StreamEndedReason(rawValue: word) ?? .custom, wire: word)
        }
        + ["", "none", "ended"].map { EndReason(cause: .backend($0), reason: .ended, wire: "ended") }
        + ["server-error", "session-error", "not-ready", "error", "died", "failed"].map {
            EndReason(cause: .backend($0), reason: .failed, wire: "failed")
        }

    /// Ends a stream that has a viewer, and checks what each receives.
    func check(on shared: SharedPlatform) async throws {
        let published = try await shared.publish()
        let stream = published.publisher.streamID
        let watched = try await shared.watch(stream)
        let (publisherReport, viewerReport) = (Awaited<String>(), Awaited<String>())
        published.publisher.setPublisherEndedCallback { publisherReport.add("\($1.rawValue) \($2)") }
        watched.stream.setStreamEndedCallback { viewerReport.add("\($1.rawValue) \($2)") }
        switch cause {
        case .backend(let word): try await shared.end(stream, reason: word)
        case .stop(let word?): published.publisher.stop(reason: word)
        case .stop(nil): published.publisher.stop()
        case .background: await published.pcast.applicationBackground()
        case .pcastStop: await published.pcast.stop()
        }
        let expected = "\(reason.rawValue) \(wire)"
        #expect(await publisherReport.first() == expected)
        #expect(await viewerReport.first() == expected)
        #expect(published.publisher.hasEnded)
        #expect(published.publisher.observableEndedInfo.value?.reason == reason)
        #expect(watched.stream.observableEndedInfo.value?.reason == reason)
        if shared.backend != nil {
            #expect(try await shared.notification("ended", of: stream)["data"]["reason"].text == wire)
        }
        #expect(publisherReport.values.count == 1 && viewerReport.values.count == 1)
        await watched.close()
        await published.close()
    }
}
