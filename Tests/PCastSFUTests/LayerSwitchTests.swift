import PCastCore
import PCastRTP
import Testing

@testable import PCastSFU

/// The steps of a viewer's switch from one layer to another.
struct LayerSwitchTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    private static func keyFrame(
        _ position: Int64 = 10, at arrival: Instant, isAligned: Bool = true
    ) -> LayerSwitch.KeyFrame {
        LayerSwitch.KeyFrame(position: position, arrival: arrival, isAligned: isAligned)
    }

    /// Returns the state of a viewer that receives a layer.
    private static func showing(_ layer: Int) -> LayerSwitch {
        var layers = LayerSwitch()
        layers.select(layer, at: start - .seconds(10 as Int64))
        let keyFrame = keyFrame(1, at: start - .seconds(10 as Int64))
        _ = layers.step(keyFrame, isBetweenFrames: true, acceptsAnyAge: false, at: start - .seconds(10 as Int64))
        return layers
    }

    @Test("the old layer continues until a key frame of the new one arrives, which is requested once")
    func waitsForKeyFrame() {
        var layers = Self.showing(2)
        layers.select(0, at: Self.start)
        #expect(layers.neededLayers == 0b101 && layers.current == 2)
        #expect(layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .ask(layer: 0))
        for wait in 1...5 {
            let now = Self.start + .milliseconds(Int64(wait) * 20)
            #expect(layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: now) == .stay)
        }
        let now = Self.start + .milliseconds(120)
        let step = layers.step(Self.keyFrame(at: now), isBetweenFrames: true, acceptsAnyAge: false, at: now)
        #expect(step == .change(to: 0))
        #expect(layers.current == 0 && layers.last == 0 && !layers.isChanging && layers.neededLayers == 0b001)
    }

    @Test("a frame of the old layer is completed first, but only for a limited time")
    func endsFrames() {
        var layers = Self.showing(2)
        layers.select(0, at: Self.start)
        let keyFrame = Self.keyFrame(at: Self.start)
        #expect(layers.step(keyFrame, isBetweenFrames: false, acceptsAnyAge: false, at: Self.start) == .stay)
        let late = Self.start + LayerSwitch.frameTimeout
        #expect(layers.step(keyFrame, isBetweenFrames: false, acceptsAnyAge: false, at: late) == .change(to: 0))
    }

    @Test("video does not go back: an old key frame is used without video, but not instead of another layer")
    func age() {
        let old = Self.keyFrame(at: Self.start - .milliseconds(300))
        var joining = LayerSwitch()
        joining.select(1, at: Self.start)
        #expect(joining.step(old, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .change(to: 1))
        var changing = Self.showing(2)
        changing.select(1, at: Self.start)
        #expect(changing.step(old, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .ask(layer: 1))
        #expect(changing.step(old, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .stay)
    }

    @Test("a new viewer receives an old key frame, then nothing until a newer one arrives")
    func replay() {
        var layers = LayerSwitch()
        layers.select(0, at: Self.start)
        var old = Self.keyFrame(10, at: Self.start - .seconds(1 as Int64))
        old.replayAge = .seconds(2 as Int64)
        old.newerKeyFrameWait = .milliseconds(100)
        func step(_ keyFrame: LayerSwitch.KeyFrame?, between: Bool = true, position: Int64, after: Int64)
            -> LayerSwitch.Step
        {
            layers.step(
                keyFrame, isBetweenFrames: between, position: position, isAtEnd: position == 100, acceptsAnyAge: false,
                at: Self.start + .milliseconds(after))
        }
        #expect(step(old, position: 0, after: 0) == .replay(layer: 0))
        #expect(!layers.isChanging && layers.needsSteps)
        let joined = layers
        #expect(step(old, position: 10, after: 1) == .stay, "the key frame is sent")
        #expect(step(old, between: false, position: 12, after: 2) == .stay, "the frame is sent completely")
        #expect(step(old, position: 15, after: 3) == .hold)
        let newer = Self.keyFrame(40, at: Self.start + .milliseconds(50))
        #expect(step(newer, position: 15, after: 50) == .change(to: 0))
        #expect(!layers.needsSteps)
        // No newer key frame arrives in time. The frames since are sent, and a newer key frame is skipped to until all
        // are sent.
        layers = joined
        #expect(step(old, position: 15, after: 100) == .stay && layers.needsSteps)
        let waiting = layers
        #expect(step(newer, between: false, position: 20, after: 110) == .stay)
        #expect(step(newer, position: 21, after: 111) == .change(to: 0))
        layers = waiting
        #expect(step(old, position: 100, after: 120) == .stay && !layers.needsSteps)
        // The viewer does not go back to a key frame that it has already passed.
        layers = waiting
        #expect(step(newer, position: 41, after: 120) == .stay && !layers.needsSteps)
        // After a loss there is no replay to wait for.
        layers = joined
        layers.restart(at: Self.start)
        #expect(layers.replay == nil)
    }

    @Test("a source that cannot be asked is joined at a key frame of any age")
    func joinsAtOldKeyFrame() {
        var layers = LayerSwitch()
        layers.select(0, at: Self.start)
        let old = Self.keyFrame(at: Self.start - .seconds(5 as Int64))
        #expect(layers.step(old, isBetweenFrames: true, acceptsAnyAge: true, at: Self.start) == .change(to: 0))
    }

    @Test("a viewer begins with an old key frame after a request for a newer one was left unanswered")
    func unanswered() {
        var layers = LayerSwitch()
        layers.select(0, at: Self.start)
        var old = Self.keyFrame(at: Self.start - .seconds(5 as Int64))
        old.answerTime = .milliseconds(300)
        old.newerKeyFrameWait = .zero
        func step(after: Int64, acceptsAnyAge: Bool = false) -> LayerSwitch.Step {
            layers.step(
                old, isBetweenFrames: true, position: after > 0 ? 20 : nil, acceptsAnyAge: acceptsAnyAge,
                at: Self.start + .milliseconds(after))
        }
        let joining = layers
        #expect(step(after: 0) == .ask(layer: 0))
        #expect(step(after: 299) == .stay)
        #expect(step(after: 300) == .replay(layer: 0) && layers.backlog == .keyFrame)
        #expect(step(after: 301) == .stay && layers.backlog == .catchUp)
        // Later viewers do not wait.
        layers = joining
        #expect(step(after: 0, acceptsAnyAge: true) == .replay(layer: 0))
        // No key frame is requested if the source cannot be asked.
        layers = joining
        old.newerKeyFrameWait = nil
        #expect(step(after: 0, acceptsAnyAge: true) == .change(to: 0) && layers.backlog == .keyFrame)
    }

    @Test("a viewer whose link was full does not go back to an earlier key frame")
    func doesNotGoBack() {
        var layers = Self.showing(0)
        layers.restart(at: Self.start)
        var old = Self.keyFrame(at: Self.start - .seconds(5 as Int64))
        old.isAhead = false
        #expect(layers.step(old, isBetweenFrames: true, acceptsAnyAge: true, at: Self.start) == .ask(layer: 0))
        #expect(layers.step(old, isBetweenFrames: true, acceptsAnyAge: true, at: Self.start) == .stay)
        old.isAhead = true
        #expect(layers.step(old, isBetweenFrames: true, acceptsAnyAge: true, at: Self.start) == .change(to: 0))
        // A viewer that had no video for a while and wants it again begins with the old key frame.
        layers = Self.showing(0)
        layers.select(nil, at: Self.start)
        _ = layers.step(nil, isBetweenFrames: true, acceptsAnyAge: true, at: Self.start)
        layers.select(0, at: Self.start)
        old.isAhead = false
        func step(after: Int64) -> LayerSwitch.Step {
            layers.step(old, isBetweenFrames: true, acceptsAnyAge: true, at: Self.start + .milliseconds(after))
        }
        #expect(step(after: 0) == .ask(layer: 0))
        #expect(step(after: 999) == .stay)
        #expect(step(after: 1_000) == .change(to: 0))
    }

    @Test("without sender reports of the new layer, a switch waits shortly and then uses a fresh key frame")
    func switchWithoutSenderReports() {
        var layers = Self.showing(2)
        layers.select(0, at: Self.start)
        #expect(layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .ask(layer: 0))
        var now = Self.start + .milliseconds(40)
        let early = Self.keyFrame(10, at: now, isAligned: false)
        #expect(layers.step(early, isBetweenFrames: true, acceptsAnyAge: false, at: now) == .ask(layer: 0))
        now = Self.start + LayerSwitch.reportTimeout + .milliseconds(10)
        #expect(layers.step(early, isBetweenFrames: true, acceptsAnyAge: false, at: now) == .stay)
        let fresh = Self.keyFrame(20, at: now, isAligned: false)
        #expect(layers.step(fresh, isBetweenFrames: true, acceptsAnyAge: false, at: now) == .change(to: 0))
    }

    @Test("a layer that overloads the link is left at the end of a frame if the lower layer is late")
    func leavesOverloadingLayer() {
        for isUrgent in [true, false] {
            var layers = Self.showing(2)
            layers.select(0, urgent: isUrgent, at: Self.start)
            _ = layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start)
            let late = Self.start + LayerSwitch.urgentTimeout
            #expect(layers.step(nil, isBetweenFrames: false, acceptsAnyAge: false, at: late) == .stay)
            let step = layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: late)
            #expect(step == (isUrgent ? .stop : .stay))
            #expect(layers.current == (isUrgent ? nil : 2) && layers.isChanging)
            let now = late + .milliseconds(200)
            let keyFrame = Self.keyFrame(at: now)
            #expect(layers.step(keyFrame, isBetweenFrames: true, acceptsAnyAge: false, at: now) == .change(to: 0))
        }
    }

    @Test("a viewer that wants no video receives the current frame completely, and resumes at a key frame")
    func stops() {
        var layers = Self.showing(1)
        layers.select(nil, at: Self.start)
        #expect(layers.step(nil, isBetweenFrames: false, acceptsAnyAge: false, at: Self.start) == .stay)
        #expect(layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .stop)
        #expect(layers.current == nil && layers.last == 1 && layers.neededLayers == 0)
        layers.select(1, at: Self.start)
        #expect(layers.step(nil, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .ask(layer: 1))
    }

    @Test("a switch that is revoked before its key frame arrives has no effect")
    func changesMind() {
        var layers = Self.showing(1)
        layers.select(0, at: Self.start)
        layers.select(1, at: Self.start)
        #expect(!layers.isChanging && layers.neededLayers == 0b010)
        let keyFrame = Self.keyFrame(at: Self.start)
        #expect(layers.step(keyFrame, isBetweenFrames: true, acceptsAnyAge: false, at: Self.start) == .stay)
    }
}
