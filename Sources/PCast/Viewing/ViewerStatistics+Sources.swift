import PCastCore
import PCastRendering
import PCastWebRTC

extension ViewerStatistics {
    /// Creates the statistics of a rendering.
    init(_ rendering: RenderStatistics) {
        framesDecoded = rendering.framesDecoded
        framesRendered = rendering.framesRendered
        framesDropped = rendering.framesDropped
        freezeCount = rendering.freezeCount
        freezeDuration = rendering.freezeDuration.milliseconds
        latencyP50 = rendering.latencyP50?.milliseconds
        latencyP99 = rendering.latencyP99?.milliseconds
        timeToLiveEdge = rendering.timeToLiveEdge?.milliseconds
        startUpFramesRendered = rendering.startUpFramesRendered
        startUpFramesSkipped = rendering.startUpFramesSkipped
        startUpLatencyMaximum = rendering.startUpLatencyMaximum?.milliseconds
        steadyLatencyP50 = rendering.steadyLatencyP50?.milliseconds
        steadyLatencyP99 = rendering.steadyLatencyP99?.milliseconds
        framesBroken = rendering.framesBroken
        audioVideoSkew = rendering.audioVideoSkew?.milliseconds
        audioConcealed = rendering.audioConcealed
        playoutDelay = rendering.playoutDelay?.milliseconds
    }

    /// Adds the statistics of a connection, except for the bit rate, which needs two readings.
    mutating func add(_ call: PeerConnectionStatistics) {
        packetsLost = call.packetsLost
        packetsRepeated = call.packetsRepeated
        nackCount = call.nackCount
        pliCount = call.pliCount
        jitter = call.jitter?.milliseconds
        roundTripTime = call.roundTrip?.milliseconds
    }
}
