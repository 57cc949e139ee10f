import PCastOverlay

/// A page's messages to an overlay.
enum OverlayTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let envelope: OverlayEnvelope
        do throws(OverlayWireError) {
            envelope = try OverlayEnvelope(text: text)
        } catch {
            return false
        }
        try check(text.utf8.count <= OverlayEnvelope.sizeLimit, "a message of \(text.utf8.count) bytes")
        // Escapes may make the written message longer than the read limit.
        let written = envelope.text
        if written.utf8.count <= OverlayEnvelope.sizeLimit {
            let again = try? OverlayEnvelope(text: written)
            try check(again == envelope, "a message that changed: \(written)")
        }
        _ = try? OverlayMessage(report: envelope)
        guard let request = try? OverlayRequest(envelope, text: text) else { return true }
        if case .message(let message) = request {
            switch message {
            case .bridgeVideoScale(let scale): try check(scale.isValid, "\(scale)")
            case .bridgeVolume(let volume): try check((0...100).contains(volume), "a volume of \(volume)")
            case .bridgeMessage(let received):
                try check(received == text, "a message that was not handed on as it came")
            default: break
            }
        }
        return true
    }

    static let corpus: [[UInt8]] = [
        #"{"v":1,"event":"bridge.ready","metadata":{},"seq":1,"epoch":0}"#,
        #"{"v":1,"event":"player.time","metadata":{"timecode":1790000000000},"seq":7,"epoch":3}"#,
        #"{"v":1,"event":"player.videoscale","metadata":{"scaleX":0.5,"scaleY":5e-1,"pivotX":1,"pivotY":0,"scaleDuration":300},"seq":8,"epoch":3}"#,
        #"{"v":1,"event":"app.language","metadata":{"language":"de","available":["en","de"]},"seq":9,"epoch":3}"#,
        #"{"v":1,"event":"app.error","metadata":{"type":"warning","message":"\u00e9\ud83d\ude00\n","code":-4},"seq":10,"epoch":3}"#,
        #"{"v":1,"event":"poll.vote","metadata":{"a":[1,-2.5,null,true,{"b":{}}]},"seq":11,"epoch":3,"more":[[]]}"#,
        #"{"v":1,"event":"stage.swipe","metadata":{"direction":"left"},"seq":12,"epoch":3}"#,
    ].map { Array($0.utf8) }
}
