import PCast
import PCastCore
import Testing

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
