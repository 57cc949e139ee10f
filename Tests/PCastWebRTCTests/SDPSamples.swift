/// Descriptions of real peers.
enum SDPSamples {
    static let all = [
        aiortcViewerAnswer,
        aiortcViewerOffer,
        aiortcPublisherAnswer,
        aiortcPublisherOffer,
        chromiumViewerAnswer,
        chromiumViewerOffer,
        chromiumSimulcastAnswer,
        chromiumSimulcastOffer,
        chromiumPublisherAnswer,
        chromiumPublisherOffer,
        ffmpegPublisherAnswer,
        ffmpegPublisherOffer,
        gstreamerViewerAnswer,
        gstreamerViewerOffer,
        gstreamerPublisherAnswer,
        gstreamerPublisherOffer,
        janusStreamingOffer,
    ]

    static let offers = [
        aiortcViewerOffer,
        aiortcPublisherOffer,
        chromiumViewerOffer,
        chromiumSimulcastOffer,
        chromiumPublisherOffer,
        ffmpegPublisherOffer,
        gstreamerViewerOffer,
        gstreamerPublisherOffer,
        janusStreamingOffer,
    ]
}

/// Descriptions of aiortc 1.16.
extension SDPSamples {
    static let aiortcViewerAnswer = """
        v=0
        o=- 4004208715 4004208715 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 36227 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
        c=IN IP4 127.0.1.1
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=mid:0
        a=msid:2d5d9b2d-bc95-4ccf-b6b9-9319ccae3fd5 6ab72415-eb94-494f-b36b-36da3bb7d475
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 2998907983 1605577447
        a=ssrc:2998907983 cname:ee97ec05-3382-44e1-9fb1-e9d838722f01
        a=ssrc:1605577447 cname:ee97ec05-3382-44e1-9fb1-e9d838722f01
        a=rtpmap:97 VP8/90000
        a=rtcp-fb:97 nack
        a=rtcp-fb:97 nack pli
        a=rtcp-fb:97 goog-remb
        a=rtpmap:98 rtx/90000
        a=fmtp:98 apt=97
        a=rtpmap:99 H264/90000
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 goog-remb
        a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:100 rtx/90000
        a=fmtp:100 apt=99
        a=rtpmap:101 H264/90000
        a=rtcp-fb:101 nack
        a=rtcp-fb:101 nack pli
        a=rtcp-fb:101 goog-remb
        a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:102 rtx/90000
        a=fmtp:102 apt=101
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 36227 typ host
        a=end-of-candidates
        a=ice-ufrag:c3eD
        a=ice-pwd:YuVnf3blZIw1xFksFAqKn5
        a=fingerprint:sha-256 89:87:0A:98:E0:EE:7C:AA:39:2F:D9:DF:A1:0C:24:9B:66:DF:39:0F:A1:24:0E:11:83:88:96:8\
        5:AE:65:AB:20
        a=fingerprint:sha-384 65:6C:04:05:90:9A:E4:77:83:34:F1:E9:9A:60:97:40:C2:F1:AB:48:37:E6:D9:07:98:46:AC:5\
        0:17:9A:8B:7A:BB:C5:E4:CF:AE:7A:CF:09:54:41:CE:E7:8B:2D:B6:85
        a=fingerprint:sha-512 A1:1A:1D:72:BA:59:C4:B5:D5:25:DE:6F:C6:6D:FC:DD:B0:C6:BF:C6:99:F9:ED:4B:B6:7E:93:1\
        8:F2:66:BB:F9:F4:40:DE:AC:13:2A:8E:1D:76:72:29:10:8A:6C:04:83:5E:D7:BE:96:AC:DD:64:2D:71:A0:93:10:61:B9:\
        71:70
        a=setup:active
        m=audio 36227 UDP/TLS/RTP/SAVPF 96 9 0 8
        c=IN IP4 127.0.1.1
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=mid:1
        a=msid:2d5d9b2d-bc95-4ccf-b6b9-9319ccae3fd5 f7fdec9d-4e22-4d78-8497-9b5c2d35269a
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:558287322 cname:ee97ec05-3382-44e1-9fb1-e9d838722f01
        a=rtpmap:96 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 36227 typ host
        a=end-of-candidates
        a=ice-ufrag:c3eD
        a=ice-pwd:YuVnf3blZIw1xFksFAqKn5
        a=fingerprint:sha-256 89:87:0A:98:E0:EE:7C:AA:39:2F:D9:DF:A1:0C:24:9B:66:DF:39:0F:A1:24:0E:11:83:88:96:8\
        5:AE:65:AB:20
        a=fingerprint:sha-384 65:6C:04:05:90:9A:E4:77:83:34:F1:E9:9A:60:97:40:C2:F1:AB:48:37:E6:D9:07:98:46:AC:5\
        0:17:9A:8B:7A:BB:C5:E4:CF:AE:7A:CF:09:54:41:CE:E7:8B:2D:B6:85
        a=fingerprint:sha-512 A1:1A:1D:72:BA:59:C4:B5:D5:25:DE:6F:C6:6D:FC:DD:B0:C6:BF:C6:99:F9:ED:4B:B6:7E:93:1\
        8:F2:66:BB:F9:F4:40:DE:AC:13:2A:8E:1D:76:72:29:10:8A:6C:04:83:5E:D7:BE:96:AC:DD:64:2D:71:A0:93:10:61:B9:\
        71:70
        a=setup:active
        """

    static let aiortcViewerOffer = """
        v=0
        o=- 4004208715 4004208715 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 41801 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=mid:0
        a=msid:ae398aca-ff7c-477d-b699-d8bcee88580c a38c9ee4-0914-4d1b-9016-dd43d9954d1f
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 126451946 3874435183
        a=ssrc:126451946 cname:cc9cf818-23ae-43d1-8130-7cc16adb4d9b
        a=ssrc:3874435183 cname:cc9cf818-23ae-43d1-8130-7cc16adb4d9b
        a=rtpmap:97 VP8/90000
        a=rtcp-fb:97 nack
        a=rtcp-fb:97 nack pli
        a=rtcp-fb:97 goog-remb
        a=rtpmap:98 rtx/90000
        a=fmtp:98 apt=97
        a=rtpmap:99 H264/90000
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 goog-remb
        a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:100 rtx/90000
        a=fmtp:100 apt=99
        a=rtpmap:101 H264/90000
        a=rtcp-fb:101 nack
        a=rtcp-fb:101 nack pli
        a=rtcp-fb:101 goog-remb
        a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:102 rtx/90000
        a=fmtp:102 apt=101
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 41801 typ host
        a=end-of-candidates
        a=ice-ufrag:Q8pQ
        a=ice-pwd:mGW1cjzd22nijkRodcWrhp
        a=fingerprint:sha-256 D6:CD:65:A6:F9:45:EA:5C:38:CC:63:8C:E4:C1:CD:14:1B:E4:D7:B0:EF:82:E7:FC:11:26:B6:7\
        F:06:4E:45:4A
        a=fingerprint:sha-384 ED:75:66:8F:68:B2:9E:FE:89:28:33:51:94:F8:05:F1:CD:E8:D7:22:3E:A5:1F:5F:D5:0E:8A:9\
        F:97:F4:DB:AF:61:55:32:75:61:5C:78:10:1A:1B:12:FB:18:93:1E:5A
        a=fingerprint:sha-512 17:8D:DA:1C:EA:D5:35:5A:77:13:18:FE:25:6C:FB:B2:D8:41:83:1B:81:DB:79:03:95:B7:2A:1\
        3:53:28:0C:4B:BD:98:3A:CE:DA:25:AD:26:A7:28:C2:45:DE:C9:E3:9E:CD:EF:74:95:DE:F5:9F:E9:3B:18:58:85:4E:07:\
        C7:0A
        a=setup:actpass
        m=audio 57294 UDP/TLS/RTP/SAVPF 96 9 0 8
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=mid:1
        a=msid:ae398aca-ff7c-477d-b699-d8bcee88580c 6c446ef6-7294-4801-9f0f-8a038cebc2f5
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:3421781657 cname:cc9cf818-23ae-43d1-8130-7cc16adb4d9b
        a=rtpmap:96 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 57294 typ host
        a=end-of-candidates
        a=ice-ufrag:Q8pQ
        a=ice-pwd:mGW1cjzd22nijkRodcWrhp
        a=fingerprint:sha-256 D6:CD:65:A6:F9:45:EA:5C:38:CC:63:8C:E4:C1:CD:14:1B:E4:D7:B0:EF:82:E7:FC:11:26:B6:7\
        F:06:4E:45:4A
        a=fingerprint:sha-384 ED:75:66:8F:68:B2:9E:FE:89:28:33:51:94:F8:05:F1:CD:E8:D7:22:3E:A5:1F:5F:D5:0E:8A:9\
        F:97:F4:DB:AF:61:55:32:75:61:5C:78:10:1A:1B:12:FB:18:93:1E:5A
        a=fingerprint:sha-512 17:8D:DA:1C:EA:D5:35:5A:77:13:18:FE:25:6C:FB:B2:D8:41:83:1B:81:DB:79:03:95:B7:2A:1\
        3:53:28:0C:4B:BD:98:3A:CE:DA:25:AD:26:A7:28:C2:45:DE:C9:E3:9E:CD:EF:74:95:DE:F5:9F:E9:3B:18:58:85:4E:07:\
        C7:0A
        a=setup:actpass
        """

    static let aiortcPublisherAnswer = """
        v=0
        o=- 4004208716 4004208716 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 60694 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=mid:0
        a=msid:750f256c-35b5-41cc-9eb9-a8074f403ba0 33fafa3e-a97f-4af7-8f2c-af5b368d3784
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 25941307 4137148530
        a=ssrc:25941307 cname:f4ce7449-88b1-476d-98fc-e1f0803ce453
        a=ssrc:4137148530 cname:f4ce7449-88b1-476d-98fc-e1f0803ce453
        a=rtpmap:97 VP8/90000
        a=rtcp-fb:97 nack
        a=rtcp-fb:97 nack pli
        a=rtcp-fb:97 goog-remb
        a=rtpmap:98 rtx/90000
        a=fmtp:98 apt=97
        a=rtpmap:99 H264/90000
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 goog-remb
        a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:100 rtx/90000
        a=fmtp:100 apt=99
        a=rtpmap:101 H264/90000
        a=rtcp-fb:101 nack
        a=rtcp-fb:101 nack pli
        a=rtcp-fb:101 goog-remb
        a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:102 rtx/90000
        a=fmtp:102 apt=101
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 60694 typ host
        a=end-of-candidates
        a=ice-ufrag:mlqa
        a=ice-pwd:TdshMuABm9Sg7HdwgOK8td
        a=fingerprint:sha-256 79:9D:5C:C8:5C:CE:B1:D3:C3:B9:70:6F:3A:4A:15:3E:C8:7C:8A:CA:CA:64:4D:44:00:6A:54:3\
        1:C2:2F:AA:63
        a=fingerprint:sha-384 8F:8F:A4:8D:C8:F1:81:FA:26:B2:F3:74:09:58:C9:74:AC:C3:42:38:35:BD:3A:A7:C1:E8:5A:9\
        3:92:63:A6:3C:83:61:E4:47:9A:C1:CE:61:39:26:44:04:A3:4F:FE:F2
        a=fingerprint:sha-512 59:6B:51:36:12:66:6D:D1:F6:56:87:B8:AB:95:5E:22:30:8E:34:AD:A4:7D:F2:05:9D:9E:41:F\
        4:72:35:D1:46:FB:A8:1F:C4:FA:DD:3A:F1:4F:C5:DE:1A:3C:74:0B:9E:39:17:1B:BB:3F:58:A4:0B:AA:67:83:3B:B6:14:\
        8D:0D
        a=setup:active
        m=audio 60694 UDP/TLS/RTP/SAVPF 96 9 0 8
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=mid:1
        a=msid:750f256c-35b5-41cc-9eb9-a8074f403ba0 2bed9bc4-80e3-45c4-8c9d-57260616c27a
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:3125433041 cname:f4ce7449-88b1-476d-98fc-e1f0803ce453
        a=rtpmap:96 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 60694 typ host
        a=end-of-candidates
        a=ice-ufrag:mlqa
        a=ice-pwd:TdshMuABm9Sg7HdwgOK8td
        a=fingerprint:sha-256 79:9D:5C:C8:5C:CE:B1:D3:C3:B9:70:6F:3A:4A:15:3E:C8:7C:8A:CA:CA:64:4D:44:00:6A:54:3\
        1:C2:2F:AA:63
        a=fingerprint:sha-384 8F:8F:A4:8D:C8:F1:81:FA:26:B2:F3:74:09:58:C9:74:AC:C3:42:38:35:BD:3A:A7:C1:E8:5A:9\
        3:92:63:A6:3C:83:61:E4:47:9A:C1:CE:61:39:26:44:04:A3:4F:FE:F2
        a=fingerprint:sha-512 59:6B:51:36:12:66:6D:D1:F6:56:87:B8:AB:95:5E:22:30:8E:34:AD:A4:7D:F2:05:9D:9E:41:F\
        4:72:35:D1:46:FB:A8:1F:C4:FA:DD:3A:F1:4F:C5:DE:1A:3C:74:0B:9E:39:17:1B:BB:3F:58:A4:0B:AA:67:83:3B:B6:14:\
        8D:0D
        a=setup:active
        """

    static let aiortcPublisherOffer = """
        v=0
        o=- 4004208716 4004208716 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 36199 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
        c=IN IP4 127.0.1.1
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=mid:0
        a=msid:90587992-ae89-4acb-b1a9-aeeb88151833 bb285d4b-4f2f-4041-be9c-7b1d96a67c35
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 1800495067 4289097202
        a=ssrc:1800495067 cname:426c1b59-0731-446e-8400-2da01beff3f4
        a=ssrc:4289097202 cname:426c1b59-0731-446e-8400-2da01beff3f4
        a=rtpmap:97 VP8/90000
        a=rtcp-fb:97 nack
        a=rtcp-fb:97 nack pli
        a=rtcp-fb:97 goog-remb
        a=rtpmap:98 rtx/90000
        a=fmtp:98 apt=97
        a=rtpmap:99 H264/90000
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 goog-remb
        a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:100 rtx/90000
        a=fmtp:100 apt=99
        a=rtpmap:101 H264/90000
        a=rtcp-fb:101 nack
        a=rtcp-fb:101 nack pli
        a=rtcp-fb:101 goog-remb
        a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:102 rtx/90000
        a=fmtp:102 apt=101
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 36199 typ host
        a=end-of-candidates
        a=ice-ufrag:4hvj
        a=ice-pwd:XU4dYUbrh4CGpp8FSFQW1n
        a=fingerprint:sha-256 2E:DC:0E:C1:9E:F2:2E:B2:3E:E8:16:AE:98:BF:02:20:6C:F6:23:33:8F:4D:9C:40:CC:1E:C5:7\
        3:E0:CA:7C:56
        a=fingerprint:sha-384 56:A7:D8:A8:8E:42:52:87:EB:7F:E0:FE:BF:5F:9B:3F:CF:D1:90:16:BD:D5:83:87:5E:A5:17:5\
        6:F6:8C:0E:0B:B9:F9:41:AD:9D:F4:F2:80:A1:6A:BF:C8:27:A8:0E:82
        a=fingerprint:sha-512 8C:BC:46:38:8A:59:CA:BC:94:B4:70:F8:E3:B8:D9:3C:6B:22:50:D6:2A:C0:57:65:5D:47:3E:5\
        E:E6:32:FE:CB:8F:39:D5:81:E7:D9:0F:89:DE:AE:39:F1:4B:6D:77:A5:EC:11:F2:57:5D:E9:47:B5:88:0C:F6:07:52:DA:\
        FF:F6
        a=setup:actpass
        m=audio 52512 UDP/TLS/RTP/SAVPF 96 9 0 8
        c=IN IP4 127.0.1.1
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=mid:1
        a=msid:90587992-ae89-4acb-b1a9-aeeb88151833 5c17dc03-a869-4f42-802f-b2a9101f56f5
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:2854449766 cname:426c1b59-0731-446e-8400-2da01beff3f4
        a=rtpmap:96 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 52512 typ host
        a=end-of-candidates
        a=ice-ufrag:4hvj
        a=ice-pwd:XU4dYUbrh4CGpp8FSFQW1n
        a=fingerprint:sha-256 2E:DC:0E:C1:9E:F2:2E:B2:3E:E8:16:AE:98:BF:02:20:6C:F6:23:33:8F:4D:9C:40:CC:1E:C5:7\
        3:E0:CA:7C:56
        a=fingerprint:sha-384 56:A7:D8:A8:8E:42:52:87:EB:7F:E0:FE:BF:5F:9B:3F:CF:D1:90:16:BD:D5:83:87:5E:A5:17:5\
        6:F6:8C:0E:0B:B9:F9:41:AD:9D:F4:F2:80:A1:6A:BF:C8:27:A8:0E:82
        a=fingerprint:sha-512 8C:BC:46:38:8A:59:CA:BC:94:B4:70:F8:E3:B8:D9:3C:6B:22:50:D6:2A:C0:57:65:5D:47:3E:5\
        E:E6:32:FE:CB:8F:39:D5:81:E7:D9:0F:89:DE:AE:39:F1:4B:6D:77:A5:EC:11:F2:57:5D:E9:47:B5:88:0C:F6:07:52:DA:\
        FF:F6
        a=setup:actpass
        """
}
