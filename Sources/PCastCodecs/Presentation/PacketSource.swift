import CFFmpeg
import PCastCore

/// Reads the encoded packets of a file from any key frame on. Times start at the beginning of the media.
final class PacketSource {
    private let input: MediaInput
    private let deadline: ReadingDeadline
    private let codings: [Int32: CodedFormat]
    private let streams: [Int32: UnsafeMutablePointer<AVStream>]
    /// The packets that were read during the search for a key frame.
    private var ahead: [CodedPacket] = []
    /// The presentation time of the last video packet that was read; nil before the first one.
    private(set) var reached: TimeSpan?
    private var hasRead = false

    let tracks: [PresentationTrack]

    /// The start time on the container's clock, in microseconds.
    private let origin: Int64

    /// The most packets to read in search of a key frame.
    private static let farthestKeyFrame = 4_000
    /// The longest time between the first audio and the first frame of a file.
    private static let latestBeginning = TimeSpan.milliseconds(500)
    private static let firstStep: Int64 = 1_000_000

    init(_ input: MediaInput, deadline: ReadingDeadline) {
        (self.input, self.deadline) = (input, deadline)
        origin = input.origin
        var codings: [Int32: CodedFormat] = [:]
        var streams: [Int32: UnsafeMutablePointer<AVStream>] = [:]
        tracks = input.streams.compactMap { stream in
            guard let track = PresentationTrack(stream), let coding = CodedFormat(stream) else {
                return nil
            }
            (codings[track.id], streams[track.id]) = (coding, stream)
            return track
        }
        (self.codings, self.streams) = (codings, streams)
    }

    /// Selects the tracks that are read. Packets of the others are discarded.
    func select(_ wanted: Set<Int32>) {
        input.select { wanted.contains($0) }
        ahead.removeAll { !wanted.contains($0.track) }
    }

    /// Returns the next packet; nil at the end. Throws `SeekableFailure` if reading was interrupted or the source broke
    /// off.
    func read() throws(SeekableFailure) -> CodedPacket? {
        if !ahead.isEmpty { return ahead.removeFirst() }
        while true {
            let isThere: Bool
            do throws(MediaInputFailure) { isThere = try input.read() } catch {
                if deadline.takeInterruption() { throw .interrupted }
                if !hasRead, let problem = input.indexProblem { throw .notPlayable(reason: problem) }
                throw .brokeOff(reason: error.reason)
            }
            guard isThere else { return nil }
            hasRead = true
            let packet = input.packet.pointer
            guard let coding = codings[packet.pointee.stream_index],
                let stream = streams[packet.pointee.stream_index]
            else {
                av_packet_unref(packet)
                continue
            }
            packet.rescale(from: stream.pointee.time_base, by: -origin)
            let coded = CodedPacket(taking: packet, coding)
            if coded.medium == .video { reached = coded.presentationTime ?? reached }
            return coded
        }
    }

    var indexProblem: String? { input.indexProblem }

    /// Clears the error of an interrupted wait, so that reading can continue.
    func clearError() { input.clearError() }

    /// Returns whether reading on reaches a position at least as fast as a seek: no later key frame precedes the
    /// position.
    func isAhead(_ position: TimeSpan, of track: Int32?) -> Bool {
        // The frame that was read last may already have been returned.
        guard let reached, let track, let stream = streams[track], position > reached, ahead.isEmpty
        else {
            return false
        }
        let moment = av_rescale_q(
            position.nanoseconds / 1_000 + origin, cffmpeg_time_base(), stream.pointee.time_base)
        guard let entry = avformat_index_get_entry_from_timestamp(stream, moment, AVSEEK_FLAG_BACKWARD)
        else {
            return false
        }
        let key =
            av_rescale_q(entry.pointee.timestamp, stream.pointee.time_base, cffmpeg_time_base())
            - origin
        return .microseconds(key) <= reached
    }

    /// Seeks to the last key frame of a track at or before a position; without a track, to the position itself.
    ///
    /// A container without an index seeks inexactly. The target is then moved back in growing steps until a key frame
    /// precedes the position.
    func locate(_ position: TimeSpan, by track: Int32?) throws(SeekableFailure) {
        let stream = track.flatMap { streams[$0] }
        let moment = position.nanoseconds / 1_000 + origin
        var step: Int64 = 0
        while true {
            let goal = max(moment - step, origin)
            ahead.removeAll()
            reached = nil
            do throws(MediaInputFailure) { try input.seek(to: goal, by: stream) } catch {
                throw deadline.takeInterruption() ? .interrupted : .brokeOff(reason: error.reason)
            }
            guard track != nil else { return }
            let key = try findKeyFrame()
            if let key, key <= position + .milliseconds(1) { return }
            guard goal > origin else {
                // Some containers seek past their first frame, which only a seek to the first byte finds.
                guard key.map({ $0 > Self.latestBeginning }) ?? true else { return }
                ahead.removeAll()
                input.rewind()
                return
            }
            step = max(Self.firstStep, step * 2)
        }
    }

    /// Returns the presentation time of the next key frame; nil if there is none. The packets that it reads are
    /// returned later.
    private func findKeyFrame() throws(SeekableFailure) -> TimeSpan? {
        var packets: [CodedPacket] = []
        var time: TimeSpan?
        while time == nil, packets.count < Self.farthestKeyFrame, let packet = try read() {
            packets.append(packet)
            if packet.medium == .video, packet.isKeyFrame {
                time = packet.presentationTime ?? packet.decodingTime
            }
        }
        ahead = packets
        return time
    }
}
