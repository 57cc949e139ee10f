internal import PCastCore

/// Packages one rendition: access units in, parts and segments out. `StreamPackager` owns one for each rendition.
///
/// A sample's duration is known when the next one arrives, so one sample is always pending. Media times are in ticks of
/// the track's clock.
struct RenditionPackager {
    /// A sample whose duration is not known yet.
    private struct Pending {
        let sample: CMAFSample
        let time: Int64
    }

    let description: RenditionDescription
    /// The complete segments in the playlist.
    private(set) var segments: [PackagedSegment] = []
    /// Segments that left the playlist and may still be requested (RFC 8216bis, section 6.2.2).
    private(set) var retired: [PackagedSegment] = []
    /// The segment to which parts are added; nil before the first and between two.
    private(set) var open: PackagedSegment?
    /// The media sequence number of the next segment.
    private(set) var nextNumber: Int64 = 0
    /// The format of the current segment; nil for video before its first key frame.
    private(set) var format: CMAFFormat?
    /// The initialization segments of the segments that are kept, by their numbers.
    private(set) var initializations: [Int: [UInt8]] = [:]
    /// The keys of the segments that are kept, by their numbers.
    private(set) var keys: [Int64: [UInt8]] = [:]
    /// The target duration of parts; nil until the first part.
    private(set) var partTarget: TimeSpan?
    /// The highest bit rate of a segment so far.
    private(set) var peakBitrate: Int64 = 0
    private var frameRateMeter = FrameRateMeter()
    /// The bytes of the segments in the playlist.
    private(set) var windowSize = 0
    /// Those of them in memory.
    private(set) var memorySize = 0
    /// Those of them in files of the window.
    private(set) var storedSize = 0
    /// The number of the oldest segment in the memory window. Earlier ones leave memory when they are stored.
    private(set) var firstInMemory: Int64 = 0
    /// The number of the next segment that ``takeUnstored(count:delay:)`` may return.
    var nextUnstored: Int64 = 0
    /// The access units that were dropped: malformed, too large, out of order, or without a key frame before them.
    private(set) var droppedUnits = 0

    private var timeline: CaptureTimeline
    /// The order of decoding. Only video has frames that are presented in another order.
    private var reordering = FrameReordering<CodedSample>()
    private var pending: Pending?
    /// The samples of the part that is being assembled.
    private var samples: [CMAFSample] = []
    private var partStart: Int64 = 0
    /// The media time up to which parts, samples and gaps reach.
    private var end: Int64 = 0
    /// The shortest part that has no exemption; nil until the first part.
    private var partFloor: Int64?
    /// The usual duration of a frame; nil until the first part.
    private var frameDuration: Int64?
    private var fragmentNumber: UInt32 = 0
    private var initializationNumber = -1
    /// The number of discontinuities that this rendition has begun.
    private var appliedDiscontinuities: Int64 = 0
    private var awaitsKeyFrame: Bool
    /// Whether the frames before the last key frame are missing, to which its leading frames may refer.
    private var skipsLeadingFrames = false
    /// The segment and the index of the first part that ``takeParts()`` has not returned.
    var nextTaken: (segment: Int64, part: Int) = (0, 0)
    /// The frames in the open segment.
    private var frameCount = 0
    private var isFinished = false

    /// The distance of a frame from a discontinuity of another rendition within which it may begin it.
    private static let discontinuityTolerance: Int64 = 500_000_000
    /// The part of the target duration of parts that a part must have at least (RFC 8216bis, section 4.4.4.9).
    private static let minimumFraction = 0.85

    init(_ description: RenditionDescription) {
        self.description = description
        format = description.source.format
        awaitsKeyFrame = description.isVideo
        timeline = CaptureTimeline(rate: description.source.clockRate)
    }

    private var rate: ClockRate { description.source.clockRate }
    private func nanoseconds(_ ticks: Int64) -> Int64 { rate.span(ofTicks: ticks).nanoseconds }
    private func ticks(_ span: TimeSpan) -> Int64 { rate.ticks(in: span) }

    /// The frame rate of video; nil before the first part.
    var frameRate: Double? { frameRateMeter.rate }

    /// Whether the rendition has begun.
    var hasBegun: Bool { open != nil || !segments.isEmpty }

    // MARK: Input

    /// Adds an access unit. A unit that cannot be decoded or is too large is dropped.
    mutating func append(_ unit: AccessUnit, _ clock: inout PackagerClock) {
        guard !isFinished, !unit.bytes.isEmpty else { return }
        guard unit.bytes.count <= PackagerConfiguration.maximumUnitSize else { return drop(&clock) }
        let converted = read(unit)
        if format == nil, unit.isKeyFrame, converted?.format == nil { clock.updates.hasUnreadableVideo = true }
        guard let read = converted else {
            droppedUnits += 1
            return
        }
        guard !awaitsKeyFrame || read.sample.isSync else { return drop(&clock) }
        if skipsLeadingFrames, read.leading == .skipped {
            droppedUnits += 1
            return
        }
        guard begins(with: unit, &clock) else { return drop(&clock) }
        if awaitsKeyFrame { insertWaiting(&clock) }
        let time: Int64
        let earliest = pending.map { $0.time + 1 } ?? end
        let expected = pending.map { $0.time + (frameDuration ?? 1) } ?? end
        switch timeline.convert(unit, notBefore: expected, &clock) {
        case .unusable: return drop(&clock)
        case .continues(let continued): time = continued
        case .jumps(let jumped):
            time = jumped
            if hasBegun, appliedDiscontinuities == clock.discontinuities, !clock.isAtDiscontinuity(nanoseconds(time)) {
                clock.addDiscontinuity(at: nanoseconds(time))
            }
        }
        // It finds the number of reordered frames, also by a frame that is too early.
        let isPlaceable = !description.isVideo || reordering.accepts(time)
        guard isPlaceable, time >= earliest else {
            guard read.leading != nil else { return drop(&clock) }
            // The frames after leading frames do not refer to them.
            droppedUnits += 1
            return
        }
        if clock.start == nil { clock.start = nanoseconds(time) }
        if !hasBegun, !reordering.isWaiting {
            appliedDiscontinuities = clock.discontinuities
            end = time
        }
        if read.sample.isSync { skipsLeadingFrames = awaitsKeyFrame }
        awaitsKeyFrame = false
        guard description.isVideo else { return insert(read.sample, at: time, nil, &clock) }
        if let format = read.format { reordering.setStatedDepth(format.reorderedFrames ?? 0) }
        insert(reordering.append(read, at: time), &clock)
    }

    /// Inserts the frames that wait for others to be ordered.
    private mutating func insertWaiting(_ clock: inout PackagerClock) {
        guard reordering.isWaiting else { return }
        let isAwaiting = awaitsKeyFrame
        insert(reordering.flush(), &clock)
        awaitsKeyFrame = awaitsKeyFrame || isAwaiting
    }

    private mutating func insert(_ frames: [FrameReordering<CodedSample>.Ordered], _ clock: inout PackagerClock) {
        for ordered in frames {
            var sample = ordered.frame.sample
            sample.compositionOffset = Int32(clamping: ordered.presentationTime - ordered.decodingTime)
            insert(sample, at: ordered.decodingTime, ordered.frame.format, &clock)
        }
    }

    /// Marks frames before the next unit as lost. Video then resumes with a key frame.
    mutating func framesLost(_ clock: inout PackagerClock) {
        guard description.isVideo else { return }
        awaitsKeyFrame = true
        clock.needsKeyFrame(of: description)
    }

    /// Begins a new sequence of timestamps with the next unit.
    mutating func restart(_ clock: inout PackagerClock) {
        timeline.restart()
        framesLost(&clock)
        reordering.restart()
    }

    /// Drops a unit. Video then needs a key frame, because later frames refer to the dropped one.
    private mutating func drop(_ clock: inout PackagerClock) {
        droppedUnits += 1
        framesLost(&clock)
    }

    /// Returns whether the rendition has begun or may begin with a unit. Audio begins together with the video.
    private func begins(with unit: AccessUnit, _ clock: inout PackagerClock) -> Bool {
        guard !hasBegun, !description.isVideo, clock.hasVideo else { return true }
        guard let start = clock.start, let time = clock.mediaTime(of: unit.captureTime) else { return false }
        return time >= start
    }

    /// Returns the sample, and the format if the unit has parameter sets; nil if the unit has no frame.
    private func read(_ unit: AccessUnit) -> CodedSample? {
        description.isVideo ? CodedSample(unit, known: format) : CodedSample(audio: unit.bytes)
    }

    /// Returns the timestamp from which on a unit may complete a part or need a key frame of the publisher. Units before it
    /// may be appended later, together. Nil if any unit may.
    func nextTimestamp(_ clock: PackagerClock) -> Int64? {
        guard !isFinished, !awaitsKeyFrame, reordering.depth == 0, appliedDiscontinuities == clock.discontinuities,
            let open, let partTarget, let frameDuration, let last = timeline.last
        else { return nil }
        // A part ends when another frame would make it longer than the target.
        var time = (samples.isEmpty ? end : partStart) + ticks(partTarget) - frameDuration
        if description.isVideo, clock.configuration.answersKeyFrameRequests {
            time = min(time, open.start + ticks(clock.configuration.segmentDuration) - frameDuration * 3 / 2)
        }
        // Frames do not arrive exactly on time.
        return last.timestamp + time - last.time - frameDuration / 4
    }

    // MARK: Segmentation

    private mutating func insert(
        _ sample: CMAFSample, at time: Int64, _ newFormat: CMAFFormat?, _ clock: inout PackagerClock
    ) {
        completePending(at: time, &clock)
        let changesFormat = format != nil && newFormat != nil && newFormat != format
        let isRestart = time - end > ticks(clock.configuration.longestGap)
        if changesFormat || isRestart, appliedDiscontinuities == clock.discontinuities {
            clock.addDiscontinuity(at: nanoseconds(time))
        }
        let isDue =
            appliedDiscontinuities < clock.discontinuities
            && clock.discontinuityTime <= nanoseconds(time) + Self.discontinuityTolerance
        let isDiscontinuity = sample.isSync && (changesFormat || isRestart || isDue)
        if isRestart { guard sample.isSync else { return drop(&clock) } } else { addGap(until: time, &clock) }
        if isDiscontinuity || beginsSegment(sample, at: time, clock) {
            closeSegment(&clock)
        } else if !sample.isSync, exceedsTarget(at: time, clock) {
            closeSegment(&clock)
            return drop(&clock)
        }
        // A segment of video begins with a key frame.
        let beginsAfterAbsence = open?.isGap == true && samples.isEmpty
        if description.isVideo, open == nil || beginsAfterAbsence {
            guard sample.isSync else { return drop(&clock) }
        }
        if beginsAfterAbsence { closeSegment(&clock) }
        end = time
        if let newFormat { format = newFormat }
        if open == nil { openSegment(at: time, isDiscontinuity: isDiscontinuity, &clock) }
        awaitsKeyFrame = false
        if samples.isEmpty { partStart = time }
        pending = Pending(sample: sample, time: time)
        requestKeyFrame(at: time, &clock)
    }

    /// Returns whether a segment ends before a sample because of its duration.
    private func beginsSegment(_ sample: CMAFSample, at time: Int64, _ clock: PackagerClock) -> Bool {
        guard let open, sample.isSync else { return false }
        let duration = ticks(clock.configuration.segmentDuration)
        if description.isVideo { return time - open.start >= duration * 3 / 4 }
        // Audio is divided at multiples of the duration since the start, at the nearest packet.
        let start = ticks(.nanoseconds(clock.start ?? 0))
        let half = (frameDuration ?? 0) / 2
        return (time + half - start) / duration > max(0, open.start + half - start) / duration
    }

    /// Returns whether another frame would make the segment longer than the target duration.
    private func exceedsTarget(at time: Int64, _ clock: PackagerClock) -> Bool {
        guard let open else { return false }
        // A segment's duration is rounded to the nearest second before it is compared with the target.
        let limit = (clock.targetDuration ?? clock.configuration.maximumTargetDuration) + .milliseconds(490)
        return time + (frameDuration ?? 0) - open.start > ticks(limit)
    }

    /// Requests a key frame a frame before the open segment has its duration.
    private mutating func requestKeyFrame(at time: Int64, _ clock: inout PackagerClock) {
        guard description.isVideo, clock.configuration.answersKeyFrameRequests, let open else { return }
        let next = time + (frameDuration ?? 0) * 3 / 2
        let isComplete = next - open.start >= ticks(clock.configuration.segmentDuration)
        if isComplete || appliedDiscontinuities < clock.discontinuities { clock.needsKeyFrame(of: description) }
    }

    private mutating func openSegment(at time: Int64, isDiscontinuity: Bool, _ clock: inout PackagerClock) {
        if isDiscontinuity {
            appliedDiscontinuities += 1
            frameRateMeter.beginSequence()
        }
        // A publisher that reconnects with the same parameters keeps its initialization segment: after an absence, hls.js 1.6
        // loads parts without another one.
        if let format, initializations[initializationNumber] == nil || isDiscontinuity {
            let bytes = format.initializationSegment
            if initializations[initializationNumber] != bytes {
                initializationNumber += 1
                initializations[initializationNumber] = bytes
            }
        }
        open = PackagedSegment(
            number: nextNumber, start: time, wallTime: clock.wallTime(at: nanoseconds(time)),
            initialization: initializationNumber, discontinuity: appliedDiscontinuities,
            isDiscontinuity: isDiscontinuity)
        if let encryption = clock.configuration.encryption {
            let key = nextNumber / encryption.segmentsPerKey
            if keys[key] == nil { keys[key] = encryption.makeKey() }
            open?.key = key
        }
        nextNumber += 1
        partStart = time
        frameCount = 0
    }

    private mutating func closeSegment(_ clock: inout PackagerClock) {
        publishPart(&clock)
        guard let segment = open else { return }
        open = nil
        let duration = segment.duration
        guard duration > .zero else {
            // Nothing was published, so the number is free. A discontinuity that it had begins with the next segment.
            nextNumber -= 1
            if segment.isDiscontinuity { appliedDiscontinuities -= 1 }
            return
        }
        segments.append(segment)
        windowSize += segment.size
        memorySize += segment.size
        // A short segment, such as one before a discontinuity, is mostly a key frame and does not count as a peak.
        if duration >= clock.configuration.segmentDuration / 2 {
            peakBitrate = max(peakBitrate, Int64(Double(segment.size * 8) / duration.seconds))
        }
        if !segment.isGap {
            clock.updates.completed.append(
                CompletedSegment(
                    rendition: description.name, number: segment.number, start: segment.wallTime, duration: duration,
                    size: segment.size))
        }
        if description.isVideo, !segment.isGap {
            frameRateMeter.note(frameCount, in: segment, of: clock.configuration.segmentDuration)
            if !clock.configuration.answersKeyFrameRequests, duration > clock.configuration.segmentDuration * 3 / 2 {
                clock.updates.longKeyFrameInterval = duration
            }
        }
        if clock.targetDuration == nil, description.isVideo {
            clock.targetDuration = max(
                clock.configuration.targetDuration,
                PackagerConfiguration.wholeSeconds(duration - .milliseconds(500)))
        }
        trim(clock)
    }

    // MARK: Parts

    /// Adds the pending sample, whose duration ends at `time`, and ends the part if it is complete.
    private mutating func completePending(at time: Int64, _ clock: inout PackagerClock) {
        guard let pending else { return }
        self.pending = nil
        // A distance of more than the longest gap is not a duration but a restart.
        let duration = min(max(1, time - pending.time), ticks(clock.configuration.longestGap))
        guard let partTarget, let partFloor, let frameDuration else {
            add(pending.sample, duration)
            measurePart(&clock)
            return
        }
        let target = ticks(partTarget)
        if end - partStart + duration > target {
            // A part that is too short to end here ends at the target, within the last frame. A gap follows.
            if end - partStart >= partFloor { publishPart(&clock) }
            add(pending.sample, duration)
            if end - partStart > target { publishPart(&clock, limit: target) }
            return
        }
        add(pending.sample, duration)
        let part = end - partStart
        if part >= partFloor, part + frameDuration > target { publishPart(&clock) }
    }

    private mutating func add(_ sample: CMAFSample, _ duration: Int64) {
        var sample = sample
        sample.duration = UInt32(clamping: duration)
        if samples.isEmpty { partStart = end }
        samples.append(sample)
        frameCount += 1
        end += duration
    }

    /// Fixes the target duration of parts when the first part has about the requested duration.
    private mutating func measurePart(_ clock: inout PackagerClock) {
        let duration = end - partStart
        let count = Int64(samples.count)
        let frame = max(1, duration / count)
        guard duration + frame / 2 >= ticks(clock.configuration.partDuration) else { return }
        // Frames do not arrive exactly on time: the target has room for half a frame, or a tenth if frames are few,
        // because a part must have 85 % of it.
        let room = min(frame / 2, duration / 10)
        let target = min(duration + room, ticks(clock.configuration.segmentDuration))
        frameDuration = frame
        if description.isVideo {
            frameRateMeter.note(firstPart: Double(count) / rate.span(ofTicks: max(1, duration)).seconds)
        }
        // Whole milliseconds, rounded up.
        partTarget = .milliseconds((nanoseconds(target) + 999_999) / 1_000_000)
        partFloor = floor(of: partTarget ?? .zero)
        clock.raisePartHoldBack(to: partTarget ?? .zero)
        publishPart(&clock, limit: target)
    }

    /// Returns the shortest part without an exemption, in ticks.
    private func floor(of target: TimeSpan) -> Int64 {
        Int64((Double(ticks(target)) * Self.minimumFraction).rounded(.up)) + 1
    }

    /// Publishes the part that is being assembled, if it has samples. A part that is longer than the limit ends at the
    /// limit; a gap follows.
    private mutating func publishPart(_ clock: inout PackagerClock, limit: Int64? = nil) {
        guard !samples.isEmpty, open != nil, let format else { return }
        fragmentNumber &+= 1
        if let limit, end - partStart > limit { end = partStart + limit }
        let bytes = CMAFFragment.bytes(
            of: samples, sequence: fragmentNumber, decodeTime: UInt64(max(0, partStart + format.priming)))
        let part = PackagedPart(
            bytes: bytes, duration: rate.span(ofTicks: end - partStart), isIndependent: samples.contains { $0.isSync })
        open?.parts.append(part)
        samples.removeAll(keepingCapacity: true)
        partStart = end
        clock.changed(description)
        if partTarget == nil {
            // The segment ended before the first part was complete.
            partTarget = clock.configuration.partDuration * 5 / 4
            partFloor = floor(of: partTarget ?? .zero)
            frameDuration = max(1, ticks(clock.configuration.partDuration) / 6)
            clock.raisePartHoldBack(to: partTarget ?? .zero)
        }
    }

    /// States the absence of media up to a time, in parts that have no data. A frame that lasts longer than a part has such
    /// parts in its segment. A longer absence has segments of its own, because hls.js 1.6 stops at a segment of which it
    /// has loaded the first parts and whose next part is a gap.
    private mutating func addGap(until time: Int64, _ clock: inout PackagerClock) {
        guard end < time, hasBegun else { return }
        publishPart(&clock)
        guard let partTarget else { return }
        if let open, !open.isGap, time - end > ticks(clock.configuration.stallTimeout) { closeSegment(&clock) }
        let target = ticks(partTarget)
        let duration = ticks(clock.configuration.segmentDuration)
        while end < time {
            if let open, end - open.start >= duration { closeSegment(&clock) }
            if open == nil { openSegment(at: end, isDiscontinuity: false, &clock) }
            let rest = (open?.start ?? end) + duration - end
            let step = min(target, time - end, rest)
            let part = PackagedPart(bytes: [], duration: rate.span(ofTicks: step), isIndependent: false)
            open?.parts.append(part)
            end += step
            partStart = end
            clock.changed(description)
        }
    }

    /// States the absence of media if none arrived for longer than the timeout. `now` is the capture time that frames
    /// without any delay would have.
    mutating func advance(to now: Int64, _ clock: inout PackagerClock) {
        guard hasBegun, !isFinished, partTarget != nil else { return }
        let reached = ticks(.nanoseconds(now - clock.configuration.stallTimeout.nanoseconds))
        let target = ticks(partTarget ?? .zero)
        guard reached > (pending?.time ?? end) + target else { return }
        insertWaiting(&clock)
        guard reached > (pending?.time ?? end) + target else { return }
        if let pending { completePending(at: max(pending.time + 1, min(reached, pending.time + partRest)), &clock) }
        // After an absence of more than the longest gap, the timeline begins again with the next frame instead.
        guard reached > end, reached - end <= ticks(clock.configuration.longestGap) else { return }
        publishPart(&clock)
        if let open, !open.isGap { closeSegment(&clock) }
        addGap(until: end + (reached - end) / target * target, &clock)
        clock.needsKeyFrame(of: description)
    }

    /// The duration until the part reaches its target.
    private var partRest: Int64 { max(frameDuration ?? 1, ticks(partTarget ?? .zero) - (end - partStart)) }

    /// Ends the rendition: the pending sample gets the usual duration, and all is published.
    mutating func finish(_ clock: inout PackagerClock) {
        guard !isFinished else { return }
        insertWaiting(&clock)
        if let pending { completePending(at: pending.time + (frameDuration ?? ticks(.milliseconds(33))), &clock) }
        closeSegment(&clock)
        isFinished = true
        clock.changed(description)
    }

    // MARK: Window

    /// The number of segments that a playlist keeps at least (Apple's HLS authoring specification, 8.11).
    private static let minimumSegmentCount = 6

    /// Removes the oldest segments beyond the window. At least three target durations remain (RFC 8216bis, section
    /// 6.2.2), and six segments.
    private mutating func trim(_ clock: PackagerClock) {
        let target = clock.targetDuration ?? clock.configuration.maximumTargetDuration
        let window = max(clock.configuration.window, target * 6)
        var duration = segments.reduce(TimeSpan.zero) { $0 + $1.duration }
        while let first = segments.first {
            let rest = duration - first.duration
            let isTooLarge =
                memorySize > clock.configuration.maximumWindowSize && rest >= target * 3
                && segments.count > Self.minimumSegmentCount
            guard rest >= window || isTooLarge else { break }
            duration = rest
            retireFirst()
        }
        trimRetired(target)
        unload(target, clock)
    }

    /// Removes the first segment from the playlist. It may still be requested.
    private mutating func retireFirst() {
        let first = segments.removeFirst()
        windowSize -= first.size
        memorySize -= first.memorySize
        storedSize -= first.storedSize
        retired.append(first)
    }

    /// Moves the beginning of the memory window, and removes the stored media before it from memory.
    private mutating func unload(_ target: TimeSpan, _ clock: PackagerClock) {
        let window = max(clock.configuration.memoryWindow, target * 6)
        var (duration, index) = (TimeSpan.zero, segments.endIndex)
        while index > segments.startIndex, duration < window || segments.endIndex - index < Self.minimumSegmentCount {
            index -= 1
            duration += segments[index].duration
        }
        guard segments.indices.contains(index), segments[index].number > firstInMemory else { return }
        let former = firstInMemory
        firstInMemory = segments[index].number
        for earlier in segments[..<index].indices.reversed() {
            guard segments[earlier].number >= former else { break }
            unload(at: earlier)
        }
    }

    private mutating func unload(at index: Int) {
        let size = segments[index].memorySize
        segments[index].unload()
        memorySize -= size - segments[index].memorySize
    }

    // MARK: Storage

    /// Returns complete segments before the memory window that are not stored; see ``StreamPackager``.
    mutating func takeUnstored(count: Int, delay: TimeSpan) -> [UnstoredSegment] {
        guard nextUnstored < firstInMemory, let first = index(of: max(nextUnstored, segments.first?.number ?? 0)),
            var end = index(of: firstInMemory)
        else { return [] }
        var duration = TimeSpan.zero
        while end > first, duration < delay {
            end -= 1
            duration += segments[end].duration
        }
        let taken = segments[first..<end].prefix(count)
        if let last = taken.last { nextUnstored = last.number + 1 }
        return taken.filter { $0.stored == nil && !$0.isGap }.map {
            UnstoredSegment(rendition: description.name, number: $0.number, fragments: $0.parts.map(\.bytes))
        }
    }

    /// Records that the media of a segment are stored. It does nothing for a segment that left the playlist, that is stored
    /// already, or that has another size.
    mutating func setStored(_ media: StoredMedia, for number: Int64) {
        guard let index = index(of: number), segments[index].stored == nil, segments[index].size == media.size,
            media.size > 0
        else { return }
        segments[index].stored = media
        storedSize += segments[index].storedSize
        if number < firstInMemory { unload(at: index) }
    }

    /// Returns the index of a segment in the playlist; nil if it is not in it. The numbers are consecutive.
    private func index(of number: Int64) -> Int? {
        guard let first = segments.first?.number, number >= first, number - first < segments.count else { return nil }
        let index = Int(number - first)
        return segments[index].number == number ? index : segments.firstIndex { $0.number == number }
    }

    /// Returns whether three target durations and six segments remain without the first segment.
    func canRemoveFirst(_ clock: PackagerClock) -> Bool {
        guard segments.count > Self.minimumSegmentCount else { return false }
        let target = clock.targetDuration ?? clock.configuration.maximumTargetDuration
        return !isFinished && segments.dropFirst().reduce(TimeSpan.zero) { $0 + $1.duration } >= target * 3
    }

    /// Removes the first segment from the playlist. Returns its bytes in memory and in files of the window.
    mutating func removeFirst(_ clock: inout PackagerClock) -> (memory: Int, stored: Int) {
        let sizes = (segments[0].memorySize, segments[0].storedSize)
        retireFirst()
        trimRetired(clock.targetDuration ?? clock.configuration.maximumTargetDuration)
        clock.changed(description)
        return sizes
    }

    /// Discards segments that left the playlist long enough ago.
    private mutating func trimRetired(_ target: TimeSpan) {
        // A segment may be requested for its own duration after it left the longest playlist; parts for three target
        // durations.
        var kept = retired.reduce(TimeSpan.zero) { $0 + $1.duration }
        while let first = retired.first, kept - first.duration >= target * 3 {
            kept -= first.duration
            retired.removeFirst()
        }
        let oldest = retired.first?.initialization ?? segments.first?.initialization ?? initializationNumber
        initializations = initializations.filter { $0.key >= oldest }
        if let oldest = (retired.first ?? segments.first)?.key { keys = keys.filter { $0.key >= oldest } }
    }
}
