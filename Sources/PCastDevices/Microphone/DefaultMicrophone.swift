import CALSA
import Glibc

/// The device that alsa-lib's configuration calls "default", if it is hardware or a audio server. Without either, the
/// name may exist without a device.
struct DefaultMicrophone {
    /// The number of the card; nil for a audio server.
    var card: Int?
    /// The capabilities of the hardware; nil if another program uses it.
    var limits: CaptureLimits?

    static func find() -> DefaultMicrophone? {
        calsa_silence()
        var pcm: OpaquePointer?
        let result = snd_pcm_open(&pcm, MicrophoneAddress.standard, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
        if result == -EBUSY || result == -EAGAIN { return DefaultMicrophone() }
        guard result >= 0, let pcm else { return nil }
        defer { snd_pcm_close(pcm) }
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { return nil }
        defer { snd_pcm_info_free(info) }
        let card = snd_pcm_info(pcm, info) >= 0 ? Int(snd_pcm_info_get_card(info)) : -1
        guard card >= 0 || snd_pcm_type(pcm) == SND_PCM_TYPE_IOPLUG else { return nil }
        return DefaultMicrophone(card: card >= 0 ? card : nil, limits: CaptureLimits(pcm))
    }

    static func isThere() -> Bool { find() != nil }
}
