import PCastCore
import PCastJSON
import PCastOverlay
import Testing

@Suite("Messages between pages and overlays")
struct OverlayWireTests {
    private func request(_ event: String, _ metadata: String) throws(OverlayWireError) -> OverlayRequest {
        let text = "{\"v\":1,\"event\":\"\(event)\",\"metadata\":\(metadata),\"seq\":1,\"epoch\":0}"
        return try OverlayRequest(try OverlayEnvelope(text: text), text: text)
    }

    private func failure(_ text: String) -> OverlayWireError? {
        do throws(OverlayWireError) {
            _ = try OverlayEnvelope(text: text)
            return nil
        } catch {
            return error
        }
    }

    @Test("a message is parsed, and written as documented")
    func envelope() throws {
        let text = #"{"v":1,"event":"player.time","metadata":{"timecode":1790000000000},"seq":7,"epoch":3}"#
        let envelope = try OverlayEnvelope(text: text)
        #expect(envelope.event == "player.time" && envelope.sequence == 7 && envelope.epoch == 3)
        #expect(envelope.text == text)
        let spaced =
            " {\n\"epoch\" : 3 , \"seq\":7,\"v\":1.0,\"event\":\"player.time\",\"other\":[{}],\"metadata\":{}}\t"
        #expect(try OverlayEnvelope(text: spaced).metadata.isEmpty)
        #expect(try OverlayEnvelope(text: #"{"v":1,"event":"a","seq":0,"epoch":0}"#).metadata.isEmpty)
    }

    @Test("each invalid message has its own error")
    func faults() {
        #expect(failure("") == .malformed(at: 0))
        #expect(failure("[]") == .noMessage(field: "event"))
        #expect(failure(#"{"v":2,"event":"a","seq":0,"epoch":0}"#) == .unsupportedVersion(2))
        #expect(failure(#"{"v":1,"event":"a b","seq":0,"epoch":0}"#) == .noMessage(field: "event"))
        #expect(failure(#"{"v":1,"event":"\#(String(repeating: "a", count: 65))","seq":0,"epoch":0}"#) != nil)
        #expect(failure(#"{"v":1,"event":"a","seq":-1,"epoch":0}"#) == .noMessage(field: "seq"))
        #expect(failure(#"{"v":1,"event":"a","seq":1,"epoch":9007199254740992}"#) == .noMessage(field: "epoch"))
        #expect(failure(#"{"v":1,"event":"a","seq":1,"epoch":0,"metadata":[]}"#) == .noMessage(field: "metadata"))
        #expect(failure(#"{"v":1,"v":1,"event":"a","seq":1,"epoch":0}"#) == .malformed(at: 7))
        #expect(failure(String(repeating: "[", count: 17)) == .tooDeep)
        #expect(failure("[" + String(repeating: "0,", count: 4_096) + "0]") == .tooManyValues)
        #expect(failure("\"" + String(repeating: "a", count: 65_536) + "\"") == .tooLarge)
        for text in [
            #""\ud800""#, #""\ud800\u0041""#, #""\x""#, "\"\u{1}\"", "01", "1.", "-", "1e", "tru", "nul", "{,}", "1 2",
        ] {
            guard case .malformed? = failure(text) else {
                Issue.record("\(text) is \(failure(text) as Any)")
                continue
            }
        }
    }

    @Test("every request of a page is parsed")
    func requests() throws {
        #expect(try request("bridge.ready", "{}") == .bridgeReady)
        #expect(try request("app.loading", "{}") == .appLoading)
        #expect(try request("app.ready", "{}") == .appReady)
        #expect(try request("app.keepalive", "{}") == .keepAlive)
        #expect(
            try request("app.error", #"{"type":"fatal","message":"gone","code":4}"#)
                == .failed(OverlayError(.fatal, .viewConnectivity, reason: "gone", code: 4)))
        #expect(try request("app.status", #"{"status":"hidden"}"#) == .message(.bridgeAppStatus(.hidden)))
        #expect(try request("stage.clicked", #"{"controls":"visible"}"#) == .message(.bridgeStage(.visible)))
        #expect(try request("stage.swipe", #"{"direction":"left"}"#) == .message(.bridgeStageSwipe(.left)))
        #expect(try request("player.time", #"{"timecode":1790000000000}"#) == .message(.bridgeTime(1_790_000_000_000)))
        #expect(try request("player.state", #"{"state":"paused"}"#) == .message(.bridgeState(.paused)))
        #expect(try request("player.speed", #"{"speed":0.5}"#) == .message(.bridgeSpeed(0.5)))
        #expect(try request("player.volume", #"{"volume":40}"#) == .message(.bridgeVolume(40)))
        #expect(try request("player.mute", #"{"mute":true}"#) == .message(.bridgeMute(true)))
        #expect(
            try request(
                "player.videoscale", #"{"scaleX":0.5,"scaleY":0.5,"pivotX":1,"pivotY":0,"scaleDuration":300}"#)
                == .message(
                    .bridgeVideoScale(VideoScale(scaleX: 0.5, scaleY: 0.5, pivotX: 1, pivotY: 0, duration: 300))))
        #expect(
            try request("app.language", #"{"language":"de","available":["de","en"]}"#)
                == .message(.bridgeLanguage("de", available: ["de", "en"])))
        guard case .message(.bridgeMessage(let text)) = try request("poll.vote", #"{"choice":3}"#) else {
            Issue.record("an unknown event is a message")
            return
        }
        #expect(text == #"{"v":1,"event":"poll.vote","metadata":{"choice":3},"seq":1,"epoch":0}"#)
    }

    @Test(
        "a payload out of range is rejected",
        arguments: [
            ("player.time", "{}"), ("player.time", #"{"timecode":"1"}"#), ("player.time", #"{"timecode":1e300}"#),
            ("player.time", #"{"timecode":1.5}"#), ("player.state", #"{"state":"flying"}"#),
            ("player.speed", #"{"speed":0}"#), ("player.speed", #"{"speed":-1}"#),
            ("player.volume", #"{"volume":101}"#),
            ("player.volume", #"{"volume":-1}"#), ("player.mute", #"{"mute":1}"#),
            ("player.videoscale", #"{"scaleX":1.1,"scaleY":1,"pivotX":0,"pivotY":0,"scaleDuration":0}"#),
            ("player.videoscale", #"{"scaleX":1,"scaleY":1,"pivotX":0,"pivotY":0,"scaleDuration":60001}"#),
            ("stage.clicked", #"{"controls":"open"}"#), ("stage.swipe", #"{"direction":"around"}"#),
            ("app.status", #"{"status":"gone"}"#), ("app.language", #"{"language":"<b>"}"#),
            ("app.language", #"{"language":"de","available":[1]}"#), ("app.error", #"{"type":"bad","message":"x"}"#),
        ])
    func bounds(event: String, metadata: String) {
        #expect(throws: OverlayWireError.self) { _ = try request(event, metadata) }
    }

    @Test("a player's report is parsed by another overlay, and a page's request by the overlay")
    func bothDirections() throws {
        let scale = VideoScale(scaleX: 0.5, scaleY: 0.25, pivotX: 1, pivotY: 0, duration: 300)
        let reports: [OverlayMessage] = [
            .playerReady, .playerTime(OverlayTime(timecode: 5, initialTimecode: 1, maxTimecode: 9)),
            .playerTime(OverlayTime(timecode: 5)), .playerState(.seeking), .playerSpeed(0.5), .playerVolume(7),
            .playerMute(true), .playerVideoScale(scale), .playerStage(.hidden), .playerMetadata(#"{"a":"\n"}"#),
        ]
        for message in reports {
            let report = try #require(try OverlayReport(message))
            let metadata = try #require(JSONObject(text: report.metadata))
            let envelope = OverlayEnvelope(report.event, metadata, sequence: 1, epoch: 2)
            #expect(try OverlayMessage(report: OverlayEnvelope(text: envelope.text)) == message)
        }
        let requests: [OverlayMessage] = [
            .bridgeTime(5), .bridgeState(.paused), .bridgeSpeed(2), .bridgeVolume(3), .bridgeMute(false),
            .bridgeVideoScale(scale), .bridgeStage(.visible), .bridgeStageSwipe(.up),
        ]
        for message in requests {
            let envelope = try #require(message.request(sequence: 1, epoch: 0))
            #expect(try OverlayRequest(envelope, text: envelope.text) == .message(message))
        }
    }

    @Test("an application's message has its own event's name, unless it uses another's")
    func appMessages() throws {
        let own = try OverlayReport(.appMessage(#"{"event":"poll.opened","metadata":{"id":4}}"#))
        #expect(own?.event == "poll.opened" && own?.metadata == #"{"id":4}"#)
        let taken = try OverlayReport(.appMessage(#"{"event":"player.time","metadata":{}}"#))
        #expect(taken?.event == "app.message")
        #expect(try OverlayReport(.appMessage("[1]"))?.metadata == #"{"message":[1]}"#)
        #expect(throws: OverlayWireError.self) { try OverlayReport(.appMessage("{")) }
    }

    @Test("each of the 26 messages has the name of its notification, which states the sender")
    func names() {
        let error = OverlayError(.warning, .bridgeConnectivity, reason: "late")
        let general: [OverlayMessage] = [.easeLiveReady, .easeLiveError(error)]
        let application: [OverlayMessage] = [.appLanguage("de"), .appMessage("{}")]
        let pages: [OverlayMessage] = [
            .bridgeAppStatus(.hidden), .bridgeReady, .bridgeStage(.visible), .bridgeStageSwipe(.up), .bridgeTime(5),
            .bridgeState(.paused), .bridgeLanguage("de", available: ["de"]), .bridgeMessage("{}"), .bridgeSpeed(2),
            .bridgeVolume(3), .bridgeMute(true), .bridgeVideoScale(.full),
        ]
        let player: [OverlayMessage] = [
            .playerReady, .playerTime(OverlayTime(timecode: 5)), .playerError(error), .playerMetadata("{}"),
            .playerState(.seeking), .playerStage(.hidden), .playerSpeed(0.5), .playerVolume(7), .playerMute(false),
            .playerVideoScale(.full),
        ]
        let messages = general + application + pages + player
        #expect(messages.count == 26)
        #expect(
            messages.map(\.name).sorted { $0.rawValue < $1.rawValue }
                == OverlayMessage.Name.allCases.sorted {
                    $0.rawValue < $1.rawValue
                })
        for (sender, messages) in [("", general), ("app.", application), ("bridge.", pages), ("player.", player)] {
            for message in messages { #expect(message.name.rawValue.hasPrefix("easelive.\(sender)")) }
        }
        // Only requests of pages are sent to another overlay.
        for message in general + application + player { #expect(message.request(sequence: 1, epoch: 0) == nil) }
    }
}
