package import PCastCore
import PCastRTP

/// RTCP reports and requests to the peer.
extension MediaReceiver {
    // MARK: RTCP output

    /// Requests that the peer send at most a bit rate, all tracks together; nil removes the limit. The request is sent
    /// at once and repeated each second while the limit holds (REMB, draft-alvestrand-rmcat-remb-03).
    package mutating func setBitrateLimit(_ limit: Bitrate?, at now: Instant) {
        guard limit != bitrateLimit else { return }
        bitrateLimit = limit
        remainingLimitRemovals = limit == nil ? Self.limitRemovalCount : 0
        limitDue = now
    }

    /// Writes a REMB message, if one is due.
    mutating func writeLimit(into writer: inout RTCPWriter, at now: Instant) {
        guard let limitDue, now >= limitDue else { return }
        self.limitDue = bitrateLimit == nil && remainingLimitRemovals <= 1 ? nil : now + Self.reportInterval
        if bitrateLimit == nil { remainingLimitRemovals -= 1 }
        var ssrcs = layers[sentLayers].compactMap(\.ssrc)
        if let ssrc = audio?.ssrc { ssrcs.append(ssrc) }
        writer.receiverEstimatedBitrate(
            senderSSRC: reporterSSRC, bitrate: bitrateLimit ?? Self.noLimit, ssrcs: ssrcs.span)
    }

    /// The time at which ``poll(through:into:wallTime:at:)`` must be called; nil if nothing is scheduled.
    package var deadline: Instant? {
        mutating get {
            var deadline = Instant.earlier(nextReport, limitDue)
            deadline = Instant.earlier(deadline, arrivals?.deadline)
            for index in sentLayers {
                if layers[index].media.feedback.contains(.nack) {
                    deadline = Instant.earlier(deadline, layers[index].missing.deadline)
                }
                deadline = Instant.earlier(deadline, layers[index].pauseDeadline)
                if canRequestKeyFrames, layers[index].ssrc != nil, !isLayerPaused(layer: index) {
                    deadline = Instant.earlier(
                        deadline, layers[index].keyFrame.deadline(roundTrip: layers[index].missing.roundTrip))
                }
            }
            if audio != nil {
                deadline = Instant.earlier(deadline, audio!.pauseDeadline)
                if audio!.media.feedback.contains(.nack) {
                    deadline = Instant.earlier(deadline, audio!.missing.deadline)
                }
            }
            return deadline
        }
    }

    /// Appends a datagram with all RTCP packets that are due. Returns true if the batch is full.
    package mutating func poll(
        through transport: inout SecureTransport, into batch: inout DatagramBatch, wallTime: WallTime,
        at now: Instant
    ) -> Bool {
        guard transport.isConnected, let path = transport.path, let deadline, now >= deadline else { return false }
        guard let buffer = batch.reserve() else { return true }
        let usable = buffer.extracting(..<Self.reportSize)
        var writer = RTCPWriter(usable)
        writeReport(into: &writer, wallTime: wallTime, at: now)
        writeLimit(into: &writer, at: now)
        writeRequests(into: &writer, at: now)
        if arrivals != nil, writer.remaining > 200 {
            _ = arrivals!.poll(
                into: &writer, senderSSRC: reporterSSRC,
                mediaSSRC: layers.lazy.compactMap(\.ssrc).first ?? audio?.ssrc ?? 0, at: now)
        }
        guard writer.count > 0 else { return false }
        let length = transport.protectRTCP(buffer, length: writer.count)
        if length > 0 { batch.commit(length: length, to: path) }
        return false
    }

    /// The maximum size of a compound packet in bytes, so that a UDP payload has at most 1200 bytes with the SRTCP
    /// overhead.
    static let reportSize = 1200 - SRTPSender.maximumOverhead

    /// Writes a receiver report, which is due each second. If the peer does not support reduced-size RTCP (RFC 5506),
    /// each datagram begins with one, which may be empty.
    mutating func writeReport(into writer: inout RTCPWriter, wallTime: WallTime, at now: Instant) {
        let isDue = nextReport.map { now >= $0 } ?? false
        let allowsReduced = (layers.first ?? audio)?.media.allowsReducedSizeRTCP ?? false
        guard isDue || !allowsReduced else { return }
        writer.receiverReport(ssrc: reporterSSRC)
        guard isDue else { return }
        nextReport = now + Self.reportInterval
        for index in sentLayers {
            if let block = layers[index].statistics?.reportBlock(at: now) { _ = writer.append(block) }
        }
        if let block = audio?.statistics?.reportBlock(at: now) { _ = writer.append(block) }
        writer.sourceDescription(ssrc: reporterSSRC, cname: cname.span)
        if measuresRoundTrip {
            writer.receiverReferenceTime(ssrc: reporterSSRC, ntpTimestamp: wallTime.ntpTimestamp)
        }
    }

    /// Writes the requests that are due. Small urgent ones come first, because a list of lost packets uses all the
    /// space that is left.
    mutating func writeRequests(into writer: inout RTCPWriter, at now: Instant) {
        if let message = audio?.pollPause(at: now) { writer.pauseResume(senderSSRC: reporterSSRC, message) }
        for index in sentLayers { writeVideoRequests(of: index, into: &writer, at: now) }
        for index in sentLayers { writeLost(of: index, into: &writer, at: now) }
        if let ssrc = audio?.ssrc, audio!.media.feedback.contains(.nack) {
            audio!.missing.poll(into: &lost, at: now)
            writeLost(into: &writer, mediaSSRC: ssrc)
        }
    }

    /// Writes pause and key-frame requests for a layer.
    mutating func writeVideoRequests(of layer: Int, into writer: inout RTCPWriter, at now: Instant) {
        if layers[layer].missing.needsKeyFrame { layers[layer].keyFrame.request() }
        let isResumed = writePause(of: layer, into: &writer, at: now)
        guard let ssrc = layers[layer].ssrc else { return }
        // A paused sender is asked for a key frame together with the request to resume, and again after it has resumed.
        guard isResumed || !isLayerPaused(layer: layer) else { return }
        writeKeyFrameRequest(of: layer, into: &writer, mediaSSRC: ssrc, at: now)
    }

    /// Writes a pause or resume request for a layer, if it is due. Returns whether it is the first request to resume.
    mutating func writePause(of layer: Int, into writer: inout RTCPWriter, at now: Instant) -> Bool {
        guard let message = layers[layer].pollPause(at: now) else { return false }
        writer.pauseResume(senderSSRC: reporterSSRC, message)
        return message.kind == .resume && layers[layer].pause?.isFirstRequest == true
    }

    /// Writes a PLI, or a FIR if the peer does not support PLI, if it is due.
    mutating func writeKeyFrameRequest(
        of layer: Int, into writer: inout RTCPWriter, mediaSSRC: UInt32, at now: Instant
    ) {
        let roundTrip = layers[layer].missing.roundTrip
        guard canRequestKeyFrames, layers[layer].keyFrame.poll(roundTrip: roundTrip, at: now) else { return }
        if layers[layer].media.feedback.contains(.pli) {
            writer.pictureLossIndication(senderSSRC: reporterSSRC, mediaSSRC: mediaSSRC)
        } else {
            writer.fullIntraRequest(
                senderSSRC: reporterSSRC, mediaSSRC: mediaSSRC,
                sequenceNumber: UInt8(truncatingIfNeeded: layers[layer].keyFrame.sentCount))
        }
    }

    /// Writes the NACK of a layer, if packets are missing.
    mutating func writeLost(of layer: Int, into writer: inout RTCPWriter, at now: Instant) {
        guard let ssrc = layers[layer].ssrc, layers[layer].media.feedback.contains(.nack) else { return }
        layers[layer].missing.poll(into: &lost, at: now)
        writeLost(into: &writer, mediaSSRC: ssrc)
    }

    /// Writes a NACK with the collected sequence numbers.
    mutating func writeLost(into writer: inout RTCPWriter, mediaSSRC: UInt32) {
        if !lost.isEmpty {
            _ = writer.negativeAcknowledgement(senderSSRC: reporterSSRC, mediaSSRC: mediaSSRC, lost: lost.span)
        }
        lost.removeAll(keepingCapacity: true)
    }
}
