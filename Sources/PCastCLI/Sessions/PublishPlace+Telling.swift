import PCast
import PCastJSON
import PCastPlatform

/// What people and programs are told of the place.
extension PublishPlace {
    /// Tells where the platform of this process listens, if there is one.
    ///
    /// - Parameter isAsked: somebody said where.
    func announce(on console: Console, isAsked: Bool) {
        guard let listening = running?.listening else { return }
        console.event("listening", ["uri": .string(listening.uri), "rtcPort": .count(listening.rtcPort)])
        if !isAsked, !listening.uri.hasSuffix(":\(ListenArgument.standard.port)") {
            console.say("Port \(ListenArgument.standard.port) is taken by another program; a free one is used.")
        }
    }

    /// Tells that a stream is published, and where to watch it.
    func tell(_ publisher: Publisher, on console: Console) {
        let stream = publisher.streamID.description
        let watch: String
        do {
            watch = try watchLink(stream: stream)
        } catch {
            console.say("Publishing, and no link can be made: \(error).")
            return
        }
        console.event("publishing", ["streamId": .string(stream), "watch": .string(watch)])
        console.say("Publishing. Watch at \(watch)")
        if viewers != nil {
            console.say("Whoever has this link can see the picture, for 24 hours at most; hand it on with care.")
        } else if running != nil {
            console.say("Only people on this computer can see the picture; “pcast subscribe” shows it to you too.")
        }
        if !console.isLive { console.say("Ctrl-C ends it.") }
    }
}
