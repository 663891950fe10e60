// Pictures of many points in the plane: how many lie in each pixel, and the sum of their colours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lapmodes {

// The part of the plane that a picture shows; its first line is at the top.
struct Window {
    float left, top, across, down;  // places to pixels: (x - left) * across, (top - y) * down
    std::int64_t width, height;
    std::int64_t dot;  // a point is a square of so many pixels
};

// What a pixel knows: the sums of red, green and blue, and how many points there are.
inline constexpr std::int64_t kParts = 4;

inline void add_color(const std::uint32_t* color, std::uint32_t* sum) {
    for (std::int64_t part = 0; part < kParts; ++part) sum[part] += color[part];
}

// A point as a square of pixels around (line, column).
inline void add_square(std::int64_t line, std::int64_t column, const std::uint32_t* color, const Window& window,
                       std::uint32_t* sums) {
    const std::int64_t top = line - (window.dot - 1) / 2, left = column - (window.dot - 1) / 2;
    for (std::int64_t i = std::max<std::int64_t>(0, top); i < std::min(window.height, top + window.dot); ++i)
        for (std::int64_t j = std::max<std::int64_t>(0, left); j < std::min(window.width, left + window.dot); ++j)
            add_color(color, sums + kParts * (i * window.width + j));
}

// xy (n, 2), codes (n), palette (65536, 4) with red, green, blue and 1, or zeros for what is hidden: IN.
// sums (height, width, 4) IN/OUT: the points [begin, end) are added. Returns how many of them are in the window.
inline std::int64_t add_points(const float* xy, const std::uint16_t* codes, const std::uint32_t* palette,
                               std::int64_t begin, std::int64_t end, const Window& window, std::uint32_t* sums) {
    constexpr std::int64_t kBlock = 512;
    std::int32_t columns[kBlock], lines[kBlock];
    const auto width = static_cast<std::uint32_t>(window.width), height = static_cast<std::uint32_t>(window.height);
    // Far outside a number would not fit into an int: a pixel outside is far enough.
    const float right = static_cast<float>(width) + 1, bottom = static_cast<float>(height) + 1;
    std::int64_t seen = 0;
    for (std::int64_t at = begin; at < end; at += kBlock) {
        const std::int64_t count = std::min(kBlock, end - at);
        const float* places = xy + 2 * at;
        for (std::int64_t i = 0; i < count; ++i) {
            const float x = (places[2 * i] - window.left) * window.across + 1;
            const float y = (window.top - places[2 * i + 1]) * window.down + 1;
            columns[i] = static_cast<std::int32_t>(std::min(std::max(x, 0.0f), right)) - 1;
            lines[i] = static_cast<std::int32_t>(std::min(std::max(y, 0.0f), bottom)) - 1;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            const auto line = static_cast<std::uint32_t>(lines[i]), column = static_cast<std::uint32_t>(columns[i]);
            if (line >= height || column >= width) continue;
            const std::uint32_t* color = palette + kParts * codes[at + i];
            seen += color[3];
            if (window.dot == 1)
                add_color(color, sums + kParts * (static_cast<std::int64_t>(line) * width + column));
            else
                add_square(line, column, color, window, sums);
        }
    }
    return seen;
}

// sums (height, width, 4) IN; half (height / 2, width / 2, 4) OUT: four pixels in one.
inline void halve(const std::uint32_t* sums, std::int64_t height, std::int64_t width, std::uint32_t* half) {
    for (std::int64_t i = 0; i + 1 < height; i += 2)
        for (std::int64_t j = 0; j + 1 < width; j += 2, half += kParts) {
            const std::uint32_t* above = sums + kParts * (i * width + j);
            const std::uint32_t* below = above + kParts * width;
            for (std::int64_t part = 0; part < kParts; ++part)
                half[part] = above[part] + above[part + kParts] + below[part] + below[part + kParts];
        }
}

// A part of sums, `width` pixels to a line of which the picture takes some: IN. picture (lines, columns, 4) OUT: the
// mean colour, the more opaque the more points there are.
inline void shade(const std::uint32_t* sums, std::int64_t width, std::int64_t lines, std::int64_t columns,
                  float faintest, std::uint8_t* picture) {
    std::uint32_t most = 1;
    for (std::int64_t i = 0; i < lines; ++i)
        for (std::int64_t j = 0; j < columns; ++j) most = std::max(most, sums[kParts * (i * width + j) + 3]);
    const float scale = (1 - faintest) / std::max(std::log(static_cast<float>(most)), 1e-6f);
    const auto opacity = [&](std::uint32_t count) {
        const float share = most == 1 ? 1 : faintest + scale * std::log(static_cast<float>(count));
        return static_cast<std::uint8_t>(255 * share + 0.5f);
    };
    std::vector<std::uint8_t> table(std::min<std::uint32_t>(most, 4095) + 1);
    for (std::uint32_t count = 1; count < table.size(); ++count) table[count] = opacity(count);
    for (std::int64_t i = 0; i < lines; ++i) {
        const std::uint32_t* sum = sums + kParts * i * width;
        for (std::int64_t j = 0; j < columns; ++j, sum += kParts, picture += kParts) {
            const std::uint32_t count = sum[3];
            const float each = count ? 1 / static_cast<float>(count) : 0;
            for (int part = 0; part < 3; ++part)
                picture[part] = static_cast<std::uint8_t>(static_cast<float>(sum[part]) * each + 0.5f);
            picture[3] = count == 0 ? 0 : count < table.size() ? table[count] : opacity(count);
        }
    }
}

}  // namespace lapmodes
