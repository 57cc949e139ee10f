import PCastCore
import PCastSignaling

/// Captions that a publisher sends to a platform, and a platform to viewers. The first byte picks a message of the
/// protocol or a file.
enum CaptionTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let form = bytes.first else { return false }
        let content = Array(bytes.dropFirst())
        return form & 1 == 0 ? try receive(content) : try read(String(decoding: content, as: UTF8.self))
    }

    private static func receive(_ content: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let message = message(content) else { return false }
        var gate = CaptionGate()
        let sentAt = WallTime(wire: message.timestamp)
        for each in message.cues {
            guard let cue = CaptionCue(each) else { continue }
            let again = CaptionCue(PCastCaptionCue(cue))
            try check(again == cue, "a cue that changed")
            // As far as any two clocks differ.
            let offset = TimeSpan.seconds(4_000_000_000)
            _ = (cue.problem, sentAt.map { (cue.captureTime - $0).magnitude }, cue.captureTime + offset)
            if cue.problem == nil { try check(CaptionCue.fitting(cue.text) != nil, "a text that is lost") }
            gate.add(cue)
            try check(gate.cues.count <= CaptionGate.capacity, "\(gate.cues.count) cues")
            if cue.problem == nil, gate.cues.contains(cue) {
                let text = gate.text(at: cue.captureTime)
                try check(text?.contains(cue.text) == true, "a cue that is not shown")
            }
            if let change = gate.change(after: cue.captureTime) {
                try check(change > cue.captureTime, "a change in the past")
            }
        }
        let times = gate.cues.map(\.captureTime)
        try check(times == times.sorted(), "cues out of order")
        return true
    }

    /// The request in a frame after the authentication; nil if there is none.
    private static func message(_ frame: [UInt8]) -> PCastSendCaptions? {
        let now = Instant(nanoseconds: 0)
        var conversation = ServerSignalingMachine(at: now)
        for frame in [authenticate, frame] {
            conversation.handle(.received(.binary(frame)), at: now)
            while let output = conversation.poll() {
                guard case .request(let id, let request) = output else { continue }
                if case .sendCaptions(let message) = request { return message }
                conversation.handle(.respond(id, request.response(.ok)), at: now)
            }
        }
        return nil
    }

    /// The frame of a client's request after some others.
    private static func frame(_ request: SignalingRequest, after earlier: Int) -> [UInt8] {
        let now = Instant(nanoseconds: 0)
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: now)
        for _ in 0..<earlier { _ = client.request(request, at: now) }
        while client.poll() != nil {}
        _ = client.request(request, at: now)
        guard case .send(.binary(let bytes))? = client.poll() else { return [] }
        return bytes
    }

    private static let authenticate: [UInt8] = {
        var message = PCastAuthenticate()
        message.clientVersion = "1"
        message.deviceID = "d"
        message.platform = "Linux"
        message.platformVersion = "6"
        message.authenticationToken = "DIGEST:x"
        return frame(.authenticate(message), after: 0)
    }()

    private static func read(_ text: String) throws(BrokenInvariant) -> Bool {
        guard let file = try? TimedText(parsing: text) else { return false }
        try check(!file.cues.isEmpty, "a file without cues")
        for cue in file.cues {
            let sent = CaptionCue(
                text: cue.text, captureTime: WallTime(millisecondsSinceEpoch: 0).advanced(by: cue.begin),
                duration: cue.duration)
            try check(sent.problem == nil, "a cue that is refused: \(sent.problem ?? "")")
        }
        return true
    }

    private static let message: [UInt8] = {
        var message = PCastSendCaptions()
        message.streamID = "stream-x"
        message.timestamp = 1_790_000_000_000
        message.cues = [("Hello", 0), ("two\nlines \u{1F600}", 900), ("<b>", 1_800)].map { text, milliseconds in
            PCastCaptionCue(
                CaptionCue(
                    text: text, captureTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000 + milliseconds),
                    duration: .milliseconds(1_500)))
        }
        return frame(.sendCaptions(message), after: 1)
    }()

    static let corpus: [[UInt8]] =
        [[0] + message]
        + [
            "WEBVTT - title\n\nNOTE no cue\n\nid\n00:01.000 --> 00:02.500 line:0\n<v Ann>One &amp; <b>two</b>&#33;\n",
            "\u{FEFF}1\r\n00:00:01,000 --> 00:00:02,5\r\n{\\an8}<i>One</i> < two\r\nthree\r\n\r\n2\r\n"
                + "01:00:03,000 --> 01:00:04,000\r\nEnd",
        ].map { [1] + Array($0.utf8) }
}
