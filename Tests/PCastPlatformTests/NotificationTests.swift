import FoundationEssentials
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastPlatform
import Testing

/// The notifications of backends about streams.
@Suite struct NotificationTests {
    private static let here = [IPNetwork("127.0.0.0/8")].compactMap { $0 }

    /// Retries soon, a number of times.
    private func keeping(tries: Int = 3, directory: String? = nil) -> StorageConfiguration {
        StorageConfiguration(
            directory: directory, webhookAllowedNetworks: Self.here,
            notificationWaits: Array(repeating: .milliseconds(20), count: tries))
    }

    /// Registers a notification address at a port of this machine.
    private func register(
        _ port: Int, on platform: TestPlatform, _ name: String = "", host: String = "127.0.0.1"
    ) async throws -> SigningSecret {
        struct Response: Decodable { let signingSecret: String }
        let place = "/pcast/application/first/callback" + (name.isEmpty ? "" : "/\(name)")
        let answer = try await platform.ask(
            "PUT", place, #"{"callback":{"host":"\#(host)","port":\#(port),"path":"/hook/\#(name)"}}"#)
        try #require(answer.status == 200, "\(answer.body)")
        let text = try JSONDecoder().decode(Response.self, from: Data(answer.body.utf8)).signingSecret
        return try #require(SigningSecret(text))
    }

    private func end(_ stream: String, _ reason: String, _ platform: TestPlatform) async throws {
        let answer = try await platform.ask(
            "DELETE", "/pcast/stream", #"{"streamId":"\#(stream)","reason":"\#(reason)"}"#)
        #expect(answer.status == 200)
    }

    private func whats(_ notifications: [Backend.Notification]) -> [String] {
        notifications.map { $0.content?.what ?? "?" }
    }

    @Test("the start and end of a stream are sent to every address, in order and signed") func order() async throws {
        try await Backend.run { one, onePort in
            try await Backend.run { two, twoPort in
                try await TestPlatform.run(records: keeping()) { platform async throws in
                    let first = try await register(onePort, on: platform)
                    let second = try await register(twoPort, on: platform, "second")
                    #expect(first != second)
                    let token = try Tokens.make { $0.forPublishingOnly().applyTag("red").applyTag("live") }
                    let (stream, _) = try await platform.publish(token: token)
                    try await end(stream, "my words", platform)
                    for (backend, secret) in [(one, first), (two, second)] {
                        let got = try await backend.receives(3)
                        #expect(whats(got) == ["starting", "started", "ended"])
                        #expect(got.allSatisfy { $0.isSigned(with: secret) })
                        #expect(Set(got.map(\.id)).count == 3)
                        for notification in got {
                            #expect(notification.content?.apiVersion == 0)
                            #expect(notification.content?.entity == "stream")
                            #expect(notification.content?.data.streamId == stream)
                            #expect(notification.content?.data.tags == ["red", "live"])
                        }
                        #expect(got.last?.content?.data.reason == "my words")
                        #expect(got.last?.content?.data.duration ?? -1 >= 0)
                        #expect(got.first?.content?.data.reason == nil)
                    }
                    #expect(one.received.map(\.id) == two.received.map(\.id))
                    #expect(one.received.allSatisfy { $0.path == "/hook/" })
                }
            }
        }
    }

    @Test("a stream's start is committed before its publisher receives the response") func committed() async throws {
        try await TestPlatform.run(records: keeping()) { platform async throws in
            let (stream, _) = try await platform.publish(token: try Tokens.publishing())
            let received = try await platform.ask("GET", "/pcast/application/first/notifications?streamId=\(stream)")
            #expect(received.body.contains(#""what":"started""#))
            #expect(received.body.contains(#""what":"starting""#))
        }
    }

    @Test("a rejected notification is repeated under the same ID, and later ones wait for it") func retries()
        async throws
    {
        try await Backend.run(statuses: [500, 503, 200, 404]) { backend, port in
            try await TestPlatform.run(records: keeping()) { platform async throws in
                let secret = try await register(port, on: platform)
                let (stream, _) = try await platform.publish(token: try Tokens.publishing())
                try await end(stream, "", platform)
                let got = try await backend.receives(6)
                #expect(whats(got) == ["starting", "starting", "starting", "started", "started", "ended"])
                #expect(Set(got.map(\.id)).count == 3)
                #expect(got.allSatisfy { $0.isSigned(with: secret) })
                #expect(got[0].body == got[2].body)
                #expect(try await platform.reaches("pcast_notifications_delivered_total", 3))
                #expect(try await platform.reaches("pcast_notification_failures_total", 3))
            }
        }
    }

    @Test("after the last attempt a notification has failed, and is sent again on request") func failed() async throws {
        try await Backend.run(statuses: [500, 500, 500]) { backend, port in
            try await TestPlatform.run(records: keeping(tries: 2)) { platform async throws in
                _ = try await register(port, on: platform)
                _ = try await platform.publish(token: try Tokens.publishing())
                let got = try await backend.receives(4)
                #expect(whats(got) == ["starting", "starting", "starting", "started"])
                #expect(try await platform.reaches("pcast_webhooks_failed_total", 1))
                let place = "/pcast/application/first/notifications"
                let kept = try await platform.ask("GET", place + "?state=failed")
                #expect(kept.body.contains(got[0].id))
                #expect(!kept.body.contains(got[3].id))
                #expect(try await platform.ask("POST", place + "/msg_none/redelivery").status == 404)
                #expect(try await platform.ask("POST", "\(place)/\(got[0].id)/redelivery").status == 200)
                let again = try await backend.receives(5)
                #expect(again.last?.id == got[0].id)
                #expect(try await platform.reaches("pcast_notifications_delivered_total", 2))
                let left = try await platform.ask("POST", place + "/redelivery")
                #expect(left.body == #"{"deliveries":0,"status":"ok"}"#)
            }
        }
    }

    @Test("an address that answers 410 is not called again") func gone() async throws {
        try await Backend.run(statuses: [410]) { backend, port in
            try await TestPlatform.run(records: keeping()) { platform async throws in
                _ = try await register(port, on: platform)
                _ = try await platform.publish(token: try Tokens.publishing())
                #expect(whats(try await backend.receives(2)) == ["starting", "started"])
                #expect(try await platform.reaches("pcast_webhooks_failed_total", 1))
            }
        }
    }

    @Test("an address that is not public is never called unless it is listed, whatever its name")
    func privateAddresses() async throws {
        try await Backend.run { backend, port in
            try await TestPlatform.run { platform async throws in
                for literal in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1", "::ffff:127.0.0.1"] {
                    let answer = try await platform.ask(
                        "PUT", "/pcast/application/first/callback",
                        #"{"callback":{"host":"\#(literal)","port":\#(port)}}"#)
                    #expect(answer.status == 403, "\(literal)")
                }
                // Names and unusual notations of numbers are checked by their resolved addresses.
                for (index, host) in ["localhost", "127.1", "2130706433", "0x7f000001"].enumerated() {
                    _ = try await register(port, on: platform, "n\(index)", host: host)
                }
                _ = try await platform.publish(token: try Tokens.publishing())
                #expect(try await platform.reaches("pcast_webhooks_failed_total", 8))
                #expect(backend.received.isEmpty)
                let kept = try await platform.ask("GET", "/pcast/application/first/notifications?state=failed")
                #expect(kept.body.contains("is not a public address"))
            }
        }
    }

    @Test("a redirection is not followed") func redirection() async throws {
        try await Backend.run(statuses: [302, 302, 302, 302]) { backend, port in
            try await TestPlatform.run(records: keeping()) { platform async throws in
                _ = try await register(port, on: platform)
                _ = try await platform.publish(token: try Tokens.publishing())
                let got = try await backend.receives(5)
                #expect(got.allSatisfy { $0.path == "/hook/" })
                #expect(whats(got).suffix(2) == ["starting", "started"])
            }
        }
    }

    @Test("notifications that are pending at the end are sent after a restart") func restart() async throws {
        try await withTemporaryDirectory { directory in
            try await Backend.run { backend, port in
                // No notification is accepted before the first platform ends, and none has its last attempt before.
                backend.answer(Array(repeating: 503, count: 100_000))
                let records = StorageConfiguration(
                    directory: directory, webhookAllowedNetworks: Self.here,
                    notificationWaits: [.milliseconds(200)] + Array(repeating: .seconds(2), count: 10_000))
                try await TestPlatform.run(records: records) { platform async throws in
                    _ = try await register(port, on: platform)
                    _ = try await platform.publish(token: try Tokens.publishing())
                    _ = try await backend.receives(1)
                }
                backend.answer([])
                try await TestPlatform.run(records: records) { _ async throws in
                    // A request of the first platform may arrive late.
                    #expect(try await eventually { whats(backend.received).last == "ended" })
                    let got = backend.received
                    #expect(whats(got).suffix(3) == ["starting", "started", "ended"])
                    #expect(got.last?.content?.data.reason == "maintenance")
                }
            }
        }
    }
}
